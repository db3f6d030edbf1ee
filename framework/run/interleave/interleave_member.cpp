#include "run/interleave/interleave_member.h"

#include <optional>
#include <utility>

#include "run/external/exchange.h"
#include "run/external/external_case.h"
#include "run/interleave/pass_by_pass.h"

namespace assay::run {

namespace {

using Wanted = std::optional<wire::TurnWanted>;

// Each takes turns, or is alone.
struct Membership {
  const ResolvedCase& resolved;
  const InterleaveResources& resources;
  bool takes_turns = false;

  Result<WorkerGroup> take_workers(int world_size) const {
    return resources.pool.take(world_size, resolved.fresh_workers);
  }
  void give_back(WorkerGroup group, const CaseEnd& end) const {
    if (end.reusable && !resolved.fresh_workers) resources.pool.add(std::move(group));
  }
  CaseEnd not_started(const std::string& reason) const {
    return {.outcome = Outcome::crashed,
            .reason = reason,
            .interrupted = resources.interrupt.stop_now()};
  }
};

class OnWorkers final : public InterleaveMember {
 public:
  explicit OnWorkers(const Membership& membership) : membership_(membership) {}

  Wanted start() override {
    auto group = membership_.take_workers(world_size_of(membership_.resolved));
    if (!group) {
      failed_to_start_ = group.error().text();
      return {};
    }
    group_.emplace(std::move(*group));
    wire::CaseRequest request = membership_.resolved.request;
    request.takes_turns = membership_.takes_turns;
    group_->begin(request, membership_.resolved.time_limit_s);
    return work();
  }

  Wanted take(const wire::Turn& turn) override {
    group_->give(turn);
    return work();
  }

  CaseEnd end() override {
    if (!group_) return membership_.not_started(failed_to_start_);
    CaseEnd end = group_->end();
    end.facts.versions = group_->versions();
    membership_.give_back(*std::exchange(group_, std::nullopt), end);
    return end;
  }

  bool holds_memory() const override { return group_.has_value(); }

 private:
  Wanted work() {
    return group_->work(membership_.resources.interrupt, membership_.resources.doing);
  }

  const Membership membership_;
  std::optional<WorkerGroup> group_;
  std::string failed_to_start_;
};

class InAProgram final : public InterleaveMember {
 public:
  explicit InAProgram(const Membership& membership)
      : membership_(membership), modules_(membership.resources.pool.installation().peers()) {}

  Wanted start() override {
    program_.emplace(membership_.resolved, modules_, folder_.path(), membership_.takes_turns);
    program_->begin();
    return work();
  }

  Wanted take(const wire::Turn& turn) override {
    program_->give(turn);
    return work();
  }

  CaseEnd end() override {
    ExternalEnd left = program_->end();
    program_.reset();
    CaseEnd end =
        checked_by_workers(std::move(left), folder_, membership_.resolved,
                           [this](const wire::CaseRequest& request) { return check(request); });
    if (end.facts.versions.empty()) end.facts.versions = checked_with_;
    return end;
  }

  bool holds_memory() const override { return program_.has_value(); }

 private:
  Wanted work() {
    return program_->work(membership_.resources.interrupt, membership_.resources.doing);
  }

  // Beside others the worker goes when it has answered: those that go on are to be alone with what
  // they hold.
  CaseEnd check(const wire::CaseRequest& request) {
    auto group = membership_.take_workers(1);
    if (!group) return membership_.not_started(group.error().text());
    group->begin(request, membership_.resolved.time_limit_s);
    group->work(membership_.resources.interrupt, membership_.resources.doing);
    CaseEnd end = group->end();
    checked_with_ = group->versions();
    if (!membership_.takes_turns) membership_.give_back(std::move(*group), end);
    return end;
  }

  const Membership membership_;
  const std::filesystem::path modules_;
  const TemporaryFolder folder_{"exchange"};
  std::optional<ExternalProgram> program_;
  store::Parameters checked_with_;  // versions of the worker; empty: there was none
};

std::unique_ptr<InterleaveMember> make_member(const Membership& membership);

class PassByPass final : public InterleaveMember {
 public:
  explicit PassByPass(const Membership& membership) : membership_(membership) {}

  Wanted start() override {
    end_ = measure_pass_by_pass(membership_.resolved, [this](const ResolvedCase& one_pass) {
      const auto member = make_member({one_pass, membership_.resources});
      member->start();
      return member->end();
    });
    return {};
  }
  Wanted take(const wire::Turn&) override { return {}; }
  CaseEnd end() override { return std::move(end_); }
  bool holds_memory() const override { return false; }

 private:
  const Membership membership_;
  CaseEnd end_;
};

std::unique_ptr<InterleaveMember> make_member(const Membership& membership) {
  const ResolvedCase& resolved = membership.resolved;
  if (resolved.pass_by_pass && resolved.request.passes.size() > 1) {
    return std::make_unique<PassByPass>(membership);
  }
  if (resolved.external != nullptr) return std::make_unique<InAProgram>(membership);
  return std::make_unique<OnWorkers>(membership);
}

}  // namespace

InterleaveMembers make_interleave_members(const std::vector<const ResolvedCase*>& cases,
                                          const InterleaveResources& resources) {
  InterleaveMembers members;
  std::vector<int> world_sizes;
  for (const ResolvedCase* resolved : cases) {
    members.push_back(make_member({*resolved, resources, cases.size() > 1}));
    const bool reuses = resolved->external == nullptr && !resolved->fresh_workers;
    if (reuses) world_sizes.push_back(world_size_of(*resolved));
  }
  resources.pool.keep_for(std::move(world_sizes));
  return members;
}

}  // namespace assay::run
