#include "run/interleave/interleaved_case.h"

#include <chrono>
#include <optional>
#include <utility>

#include "run/external/exchange.h"
#include "run/external/external_case.h"

namespace assay::run {

namespace {

using Doing = std::function<void(const std::string&)>;

class OnWorkers final : public CaseInTurns {
 public:
  OnWorkers(const ResolvedCase& resolved, SpareGroups& spare, Interrupt& interrupt,
            std::function<void()> begins, const Doing& doing)
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

  CaseEnd end() override {
    if (!group_) return ended_without_workers(failed_to_start_, interrupt_);
    CaseEnd end = group_->end();
    end.context["versions"] = group_->versions();
    if (end.reusable && !resolved_.fresh_workers) spare_.add(std::move(*group_));
    group_.reset();
    return end;
  }

  bool resident() const override { return group_.has_value(); }

 private:
  const ResolvedCase& resolved_;
  SpareGroups& spare_;
  Interrupt& interrupt_;
  std::function<void()> begins_;
  const Doing& doing_;
  std::optional<WorkerGroup> group_;
  std::string failed_to_start_;
};

class InAProgram final : public CaseInTurns {
 public:
  InAProgram(const ResolvedCase& resolved, SpareGroups& spare, Interrupt& interrupt,
             std::function<void()> begins, const Doing& doing)
      : resolved_(resolved),
        spare_(spare),
        interrupt_(interrupt),
        begins_(std::move(begins)),
        doing_(doing),
        peers_(spare.installation().peers()) {}

  Wanted start() override {
    begins_();
    return timed([&] {
      program_.emplace(resolved_, peers_, folder_.path(), true);
      program_->begin();
      return program_->work(interrupt_, doing_);
    });
  }

  Wanted take(const wire::Turn& turn) override {
    return timed([&] {
      program_->give(turn);
      return program_->work(interrupt_, doing_);
    });
  }

  CaseEnd end() override {
    ExternalEnd left = program_->end();
    program_.reset();
    CaseEnd end;
    timed([&]() -> Wanted {
      end = checked_by_workers(std::move(left), folder_, resolved_,
                               [this](const wire::CaseRequest& request) { return check(request); });
      return {};
    });
    return end;
  }

  bool resident() const override { return program_.has_value(); }

 private:
  // The worker goes when it has answered: the members that go on are to be alone with what they
  // hold.
  CaseEnd check(const wire::CaseRequest& request) {
    auto group = spare_.take(1, resolved_.fresh_workers);
    if (!group) return ended_without_workers(group.error().text(), interrupt_);
    return group->run_case(request, resolved_.time_limit_s, interrupt_, doing_);
  }

  const ResolvedCase& resolved_;
  SpareGroups& spare_;
  Interrupt& interrupt_;
  std::function<void()> begins_;
  const Doing& doing_;
  const std::filesystem::path peers_;
  const ExchangeFolder folder_;
  std::optional<ExternalProgram> program_;
};

}  // namespace

CaseInTurns::Wanted CaseInTurns::timed(const std::function<Wanted()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Wanted wanted = work();
  worked_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
  return wanted;
}

std::unique_ptr<CaseInTurns> make_case_in_turns(const ResolvedCase& resolved, SpareGroups& spare,
                                                Interrupt& interrupt, std::function<void()> begins,
                                                const Doing& doing) {
  if (resolved.external != nullptr) {
    return std::make_unique<InAProgram>(resolved, spare, interrupt, std::move(begins), doing);
  }
  return std::make_unique<OnWorkers>(resolved, spare, interrupt, std::move(begins), doing);
}

}  // namespace assay::run
