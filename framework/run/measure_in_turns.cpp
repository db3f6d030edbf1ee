#include "run/measure_in_turns.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "run/turns.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;
using Wanted = std::optional<wire::TurnWanted>;

std::int64_t integer_of(const store::Parameters& parameters, const char* name) {
  return std::get<std::int64_t>(parameters.at(name));
}

// A case on workers of its own.
class Member final : public TurnTaker {
 public:
  Member(const ResolvedCase& resolved, SpareGroups& spare, Interrupt& interrupt,
         std::function<void()> begins, const std::function<void(const std::string&)>& doing)
      : resolved_(resolved),
        spare_(spare),
        interrupt_(interrupt),
        begins_(std::move(begins)),
        doing_(doing) {}

  Wanted start() override {
    begins_();
    return timed([&]() -> Wanted {
      wire::CaseRequest request = resolved_.request;
      request.takes_turns = true;
      auto group = spare_.take(world_size_of(resolved_), resolved_.fresh_workers);
      if (!group) {
        failed_to_start_ = group.error().text();
        return std::nullopt;
      }
      group_.emplace(std::move(*group));
      group_->begin(request, resolved_.time_limit_s);
      return group_->work(interrupt_, doing_);
    });
  }

  Wanted take(const wire::Turn& turn) override {
    return timed([&] {
      group_->give(turn);
      return group_->work(interrupt_, doing_);
    });
  }

  // Its workers are spare, or gone, afterwards.
  CaseEnd end() {
    if (!group_) {
      return {.outcome = Outcome::crashed,
              .reason = failed_to_start_,
              .interrupted = interrupt_.stop_now()};
    }
    CaseEnd end = group_->end();
    end.context["versions"] = group_->versions();
    if (end.reusable && !resolved_.fresh_workers) spare_.add(std::move(*group_));
    group_.reset();
    return end;
  }

  bool resident() const { return group_.has_value(); }
  double worked_s() const { return worked_s_; }

 private:
  Wanted timed(const std::function<Wanted()>& work) {
    const auto begin = Clock::now();
    Wanted wanted = work();
    worked_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
    return wanted;
  }

  const ResolvedCase& resolved_;
  SpareGroups& spare_;
  Interrupt& interrupt_;
  std::function<void()> begins_;
  const std::function<void(const std::string&)>& doing_;
  std::optional<WorkerGroup> group_;
  std::string failed_to_start_;
  double worked_s_ = 0;
};

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
      world_sizes.push_back(world_size_of(*members[index].resolved));
      cases_.push_back(std::make_unique<Member>(
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
  std::vector<std::unique_ptr<Member>> cases_;
  std::vector<Alone> alone_;
};

}  // namespace

Result<WorkerGroup> SpareGroups::take(int world_size, bool fresh) {
  std::erase_if(groups_, [](WorkerGroup& group) { return !group.alive(); });
  const auto spare = std::find_if(groups_.begin(), groups_.end(), [&](const WorkerGroup& group) {
    return group.world_size() == world_size;
  });
  if (fresh || spare == groups_.end())
    return WorkerGroup::start(installation_, world_size, &interrupt_);
  WorkerGroup group = std::move(*spare);
  groups_.erase(spare);
  return group;
}

void SpareGroups::keep_for(std::vector<int> world_sizes) {
  std::erase_if(groups_, [&](const WorkerGroup& group) {
    const auto use = std::find(world_sizes.begin(), world_sizes.end(), group.world_size());
    if (use == world_sizes.end()) return true;
    world_sizes.erase(use);
    return false;
  });
}

std::vector<Alone> measure_in_turns(const std::vector<InTurns>& members, SpareGroups& spare,
                                    Interrupt& interrupt, const TurnObserver& observer) {
  return Round(members, spare, interrupt, observer).run();
}

}  // namespace assay::run
