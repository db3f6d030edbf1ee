#include "run/interleave/interleave_passes.h"

#include <algorithm>
#include <limits>

#include "run/interleave/interleave_order.h"

namespace assay::run {

namespace {

class Table {
 public:
  Table(const std::vector<TurnTaker*>& members, const TurnRules& rules)
      : members_(members), rules_(rules), wanted_(members.size()) {}

  void run() {
    for (std::size_t index = 0; index < members_.size() && !rules_.stop(); ++index) {
      note(index, members_[index]->start());
    }
    while (!rules_.stop()) {
      const std::optional<std::string> pass = next_pass();
      if (!pass) return;
      measure(*pass);
    }
  }

 private:
  // The first of the passes that somebody waits for.
  std::optional<std::string> next_pass() const {
    std::optional<std::string> next;
    auto place = rules_.passes.end();
    for (const auto& wanted : wanted_) {
      if (!wanted) continue;
      const auto its = std::find(rules_.passes.begin(), rules_.passes.end(), wanted->pass);
      if (next && its >= place) continue;
      next = wanted->pass;
      place = its;
    }
    return next;
  }

  bool wants(std::size_t index, const std::string& pass) const {
    return wanted_[index] && wanted_[index]->pass == pass;
  }

  void measure(const std::string& pass) {
    Turns& turns = turns_.emplace_back(members_.size(), turn_seed(rules_.seed, rules_.keys, pass));
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t index = 0; index < members_.size(); ++index) {
      if (wants(index, pass)) {
        fewest = std::min(fewest, wanted_[index]->planned);
      } else {
        turns.leave(index);
      }
    }
    passes_.push_back({pass, samples_a_turn(fewest), 0, {}});
    while (!rules_.stop()) {
      const auto index = turns.next();
      if (!index) return;
      const bool after_others = last_ != index;
      last_ = index;
      note(*index,
           members_[*index]->take({wanted_[*index]->ordinal, passes_.back().block, after_others}));
      if (!wants(*index, pass)) turns.leave(*index);
    }
  }

  void note(std::size_t index, std::optional<wire::TurnWanted> wanted) {
    wanted_[index] = std::move(wanted);
    if (wanted_[index]) return;
    for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
      passes_[pass].rounds = turns_[pass].rounds();
      passes_[pass].turns = in_letters(turns_[pass].taken());
    }
    rules_.ended(index, passes_);
  }

  const std::vector<TurnTaker*>& members_;
  const TurnRules& rules_;
  std::vector<std::optional<wire::TurnWanted>> wanted_;  // nothing: not begun, or ended
  std::vector<Turns> turns_;                             // of the passes begun
  std::vector<TurnsOfPass> passes_;                      // the same, for the record
  std::optional<std::size_t> last_;                      // whose turn was the last
};

}  // namespace

void take_turns(const std::vector<TurnTaker*>& members, const TurnRules& rules) {
  Table(members, rules).run();
}

}  // namespace assay::run
