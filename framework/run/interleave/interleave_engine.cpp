#include "run/interleave/interleave_engine.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/out_of_memory.h"
#include "run/interleave/interleave_order.h"

namespace assay::run {

namespace {

class InterleaveEngine {
 public:
  InterleaveEngine(const InterleaveMembers& members, const InterleaveRules& rules)
      : members_(members), rules_(rules), wanted_(members.size()), worked_s_(members.size()) {}

  void run() {
    for (std::size_t index = 0; index < members_.size() && !rules_.stop(); ++index) {
      rules_.begins(index);
      note(index, timed(index, [&] { return members_[index]->start(); }));
    }
    while (!rules_.stop()) {
      const std::optional<std::string> pass = next_pass();
      if (!pass) return;
      measure(*pass);
    }
  }

 private:
  auto timed(std::size_t index, const auto& work) -> decltype(work()) {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    auto done = work();
    worked_s_[index] += std::chrono::duration<double>(Clock::now() - begun).count();
    return done;
  }

  std::optional<std::string> next_pass() const {
    const auto& passes = rules_.passes;
    const auto place = [&](const auto& wanted) {
      if (!wanted) return std::ssize(passes) + 1;
      return std::find(passes.begin(), passes.end(), wanted->pass) - passes.begin();
    };
    const auto first = std::ranges::min_element(wanted_, {}, place);
    return *first ? std::optional((*first)->pass) : std::nullopt;
  }

  bool wants(std::size_t index, const std::string& pass) const {
    return wanted_[index] && wanted_[index]->pass == pass;
  }

  void measure(const std::string& pass) {
    InterleaveOrder& order =
        orders_.emplace_back(members_.size(), interleave_seed(rules_.seed, rules_.keys, pass));
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t index = 0; index < members_.size(); ++index) {
      if (wants(index, pass)) {
        fewest = std::min(fewest, wanted_[index]->planned);
      } else {
        order.drop(index);
      }
    }
    passes_.push_back({pass, samples_per_turn(fewest), 0, {}});
    while (!rules_.stop()) {
      const auto index = order.next();
      if (!index) return;
      const bool after_others = last_ != index;
      last_ = index;
      const wire::Turn turn = {wanted_[*index]->ordinal, passes_.back().block, after_others};
      note(*index, timed(*index, [&] { return members_[*index]->take(turn); }));
      if (!wants(*index, pass)) order.drop(*index);
    }
  }

  void note(std::size_t index, std::optional<wire::TurnWanted> wanted) {
    wanted_[index] = std::move(wanted);
    if (wanted_[index]) return;
    for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
      passes_[pass].rounds = orders_[pass].rounds();
      passes_[pass].turns = in_letters(orders_[pass].taken());
    }
    const bool beside_others = std::any_of(
        members_.begin(), members_.end(),
        [&](const auto& other) { return other != members_[index] && other->holds_memory(); });
    CaseEnd end = timed(index, [&] { return members_[index]->end(); });
    rules_.ended(index, {std::move(end), worked_s_[index], beside_others, passes_});
  }

  const InterleaveMembers& members_;
  const InterleaveRules& rules_;
  std::vector<std::optional<wire::TurnWanted>> wanted_;  // empty: not begun, or ended
  std::vector<double> worked_s_;
  std::vector<InterleaveOrder> orders_;  // of the passes begun
  std::vector<InterleavePass> passes_;   // the same passes, for the record
  std::optional<std::size_t> last_;      // the member that took the last turn
};

bool lacked_memory_to_look(const store::CaseFacts& facts) {
  return std::ranges::any_of(facts.verification, [](const auto& of_pass) {
    const store::TimedLooksFacts& timed = of_pass.second.timed;
    return timed.looks.value_or(0) == 0 && timed.left_out && means_out_of_memory(*timed.left_out);
  });
}

}  // namespace

void interleave(const InterleaveMembers& members, const InterleaveRules& rules) {
  InterleaveEngine(members, rules).run();
}

std::string harm_by_others(const CaseEnd& end, bool beside_others) {
  // Others were there when it was looked at, whoever is left.
  if (end.outcome == Outcome::ok && lacked_memory_to_look(end.facts)) {
    return "beside the others memory was lacking to look at its timed calls";
  }
  if (!beside_others) return "";
  if (end.outcome == Outcome::oom) return "it ran out of memory beside the others";
  // cudaErrorDevicesUnavailable: the GPU serves one process at a time (its compute mode).
  const bool refused = !end.reusable && end.reason.find("busy or unavailable") != std::string::npos;
  return refused ? "the GPU serves one process at a time" : "";
}

store::InterleaveFacts interleave_fact(std::size_t index, const std::vector<std::string>& names,
                                       const std::vector<InterleavePass>& turns) {
  std::map<std::string, std::string> with;
  for (std::size_t other = 0; other < names.size(); ++other) {
    if (other != index) with[letter_of(other)] = names[other];
  }
  std::map<std::string, store::InterleavedPass> passes;
  for (const InterleavePass& pass : turns) {
    if (pass.pass == wire::observing_turn) continue;
    passes[pass.pass] = {pass.block, static_cast<std::int64_t>(pass.rounds), pass.turns};
  }
  return {letter_of(index), std::move(with), std::move(passes), {}};
}

}  // namespace assay::run
