#include "run/interleave/interleave_cases.h"

#include <algorithm>
#include <memory>

#include "run/interleave/interleave_order.h"
#include "run/interleave/interleaved_case.h"

namespace assay::run {

namespace {

std::int64_t integer_of(const store::Parameters& parameters, const char* name) {
  return std::get<std::int64_t>(parameters.at(name));
}

// What about a failure may come of processes that are resident beside it; "" where nothing does.
std::string harmed_by_others(const CaseEnd& end) {
  if (end.outcome == Outcome::oom) return "it ran out of memory beside the others";
  // cudaErrorDevicesUnavailable: the GPU serves one process at a time (its compute mode).
  const bool refused = !end.reusable && end.reason.find("busy or unavailable") != std::string::npos;
  return refused ? "the GPU serves one process at a time" : "";
}

class Round {
 public:
  Round(const std::vector<InTurns>& members, SpareGroups& spare, Interrupt& interrupt,
        const TurnObserver& observer)
      : members_(members), spare_(spare), observer_(observer) {
    std::vector<int> world_sizes;
    for (std::size_t index = 0; index < members.size(); ++index) {
      if (members[index].resolved->external == nullptr) {
        world_sizes.push_back(world_size_of(*members[index].resolved));
      }
      cases_.push_back(make_case_in_turns(
          *members[index].resolved, spare, interrupt, [this, index] { observer_.begins(index); },
          observer_.doing));
    }
    spare_.keep_for(std::move(world_sizes));
  }

  std::vector<Alone> run() {
    std::vector<TurnTaker*> takers;
    for (const auto& one : cases_) takers.push_back(one.get());
    const wire::CaseRequest& first = members_[0].resolved->request;
    TurnRules rules{.seed = integer_of(first.parameters, "measure.seed"),
                    .keys = {},
                    .passes = first.passes,
                    .stop = observer_.stop,
                    .ended = [this](std::size_t index, const std::vector<TurnsOfPass>& turns) {
                      ended(index, turns);
                    }};
    for (const InTurns& member : members_) rules.keys.push_back(member.key);
    take_turns(takers, rules);
    return std::move(alone_);
  }

 private:
  void ended(std::size_t index, const std::vector<TurnsOfPass>& turns) {
    const bool beside_others =
        !spare_.empty() || std::any_of(cases_.begin(), cases_.end(), [&](const auto& other) {
          return other != cases_[index] && other->resident();
        });
    CaseEnd end = cases_[index]->end();
    if (end.interrupted) return;
    if (std::string why = harmed_by_others(end); beside_others && !why.empty()) {
      alone_.push_back({index, std::move(why)});
      return;
    }
    end.context["interleaved"] = record_of(index, turns);
    observer_.ended(index, std::move(end), cases_[index]->worked_s());
  }

  nlohmann::json record_of(std::size_t index, const std::vector<TurnsOfPass>& turns) const {
    nlohmann::json with = nlohmann::json::object();
    for (std::size_t other = 0; other < members_.size(); ++other) {
      if (other != index) with[letter_of(other)] = members_[other].name;
    }
    nlohmann::json passes = nlohmann::json::object();
    for (const TurnsOfPass& pass : turns) {
      passes[pass.pass] = {{"block", pass.block}, {"rounds", pass.rounds}, {"turns", pass.turns}};
    }
    return {{"as", letter_of(index)}, {"with", std::move(with)}, {"passes", std::move(passes)}};
  }

  const std::vector<InTurns>& members_;
  SpareGroups& spare_;
  const TurnObserver& observer_;
  std::vector<std::unique_ptr<CaseInTurns>> cases_;
  std::vector<Alone> alone_;
};

}  // namespace

std::vector<Alone> measure_in_turns(const std::vector<InTurns>& members, SpareGroups& spare,
                                    Interrupt& interrupt, const TurnObserver& observer) {
  return Round(members, spare, interrupt, observer).run();
}

}  // namespace assay::run
