#include "run/interleave/interleave_member.h"

#include <optional>
#include <utility>

#include "run/external/exchange.h"
#include "run/external/external_case.h"
#include "run/interleave/pass_by_pass.h"
#include "run/workers/case_marks.h"
#include "run/workers/case_sense.h"

namespace assay::run {

namespace {

using Wanted = std::optional<wire::TurnWanted>;

WorkerPool::Wanted ranks_of(const ResolvedCase& resolved) {
  const store::Parameters& parameters = resolved.request.parameters;
  return {world_size_of(resolved), static_cast<int>(store::integer_of(parameters, "nodes", 1)),
          store::text_of(parameters, "device") == "cuda"};
}

class Member : public InterleaveMember {
 public:
  Member(const ResolvedCase& resolved, const InterleaveResources& resources, bool takes_turns)
      : resolved_(resolved), resources_(resources), takes_turns_(takes_turns) {}

 protected:
  Result<WorkerGroup> take_workers(const WorkerPool::Wanted& wanted) const {
    return resources_.pool.take(wanted, resolved_.fresh_workers);
  }
  void give_back(WorkerGroup group, const CaseEnd& end) const {
    if (end.reusable && !resolved_.fresh_workers) resources_.pool.add(std::move(group));
  }
  CaseEnd not_started(const Error& error) const {
    return {.outcome = is_out_of_memory(error) ? Outcome::oom : Outcome::crashed,
            .reason = error.text(),
            .interrupted = resources_.interrupt.stop_now() || is_stopped_by_user(error)};
  }
  // worker: a WorkerGroup or an ExternalProgram.
  Wanted work(auto& worker) const { return worker.work(resources_.interrupt, resources_.listener); }

  const ResolvedCase& resolved_;
  const InterleaveResources& resources_;
  const bool takes_turns_;
};

class WorkersMember final : public Member {
 public:
  using Member::Member;

  Wanted start() override {
    auto group = take_workers(ranks_of(resolved_));
    if (!group) {
      failed_to_start_ = group.error();
      return {};
    }
    group_.emplace(std::move(*group));
    wire::CaseRequest request = resolved_.request;
    request.takes_turns = takes_turns_;
    group_->begin(request, resolved_.time_limit_s);
    return work(*group_);
  }

  Wanted take(const wire::Turn& turn) override {
    group_->give(turn);
    return work(*group_);
  }

  CaseEnd end() override {
    if (!group_) return not_started(failed_to_start_);
    CaseEnd end = group_->end(resources_.interrupt);
    end.facts.versions = group_->versions();
    refuse_the_impossible(end);
    if (!end.interrupted) mark_not_looked_at(resolved_.request, end);
    give_back(*std::exchange(group_, std::nullopt), end);
    return end;
  }

  bool holds_memory() const override { return group_.has_value(); }

 private:
  void refuse_the_impossible(CaseEnd& end) const {
    if (end.outcome != Outcome::ok || end.interrupted) return;
    const std::string why = why_impossible(
        end, {resolved_.request, resolved_.unclocked, group_->world_size(), end.worked_s});
    if (why.empty()) return;
    refuse(end, resolved_.request.passes, Outcome::error, "what its worker told cannot be: " + why);
  }

  std::optional<WorkerGroup> group_;
  Error failed_to_start_;
};

class ProgramMember final : public Member {
 public:
  using Member::Member;

  Wanted start() override {
    program_.emplace(resolved_, modules_, folder_.path(), takes_turns_);
    program_->begin();
    return work(*program_);
  }

  Wanted take(const wire::Turn& turn) override {
    program_->give(turn);
    return work(*program_);
  }

  CaseEnd end() override {
    ExternalEnd left = program_->end();
    program_.reset();
    CaseEnd end =
        checked_by_workers(std::move(left), folder_, resolved_,
                           [this](const wire::CaseRequest& request) { return check(request); });
    if (end.facts.versions.empty()) end.facts.versions = checked_with_;
    return end;
  }

  bool holds_memory() const override { return program_.has_value(); }

 private:
  // Beside other members the worker ends once it has answered, for its memory.
  CaseEnd check(const wire::CaseRequest& request) {
    auto group = take_workers({});
    if (!group) return not_started(group.error());
    group->begin(request, resolved_.time_limit_s);
    work(*group);
    CaseEnd end = group->end(resources_.interrupt);
    checked_with_ = group->versions();
    if (!takes_turns_) give_back(std::move(*group), end);
    return end;
  }

  const std::filesystem::path modules_ = resources_.pool.installation().peers();
  const TemporaryFolder folder_{"exchange"};
  std::optional<ExternalProgram> program_;
  store::Parameters checked_with_;  // versions of the worker; empty: there was none
};

std::unique_ptr<InterleaveMember> make_member(const ResolvedCase& resolved,
                                              const InterleaveResources& resources,
                                              bool takes_turns);

class PassByPassMember final : public Member {
 public:
  using Member::Member;

  Wanted start() override {
    end_ = measure_pass_by_pass(resolved_, [this](const ResolvedCase& one_pass) {
      const auto member = make_member(one_pass, resources_, false);
      member->start();
      return member->end();
    });
    return {};
  }
  Wanted take(const wire::Turn&) override { return {}; }
  CaseEnd end() override { return std::move(end_); }
  bool holds_memory() const override { return false; }

 private:
  CaseEnd end_;
};

std::unique_ptr<InterleaveMember> make_member(const ResolvedCase& resolved,
                                              const InterleaveResources& resources,
                                              bool takes_turns) {
  if (resolved.pass_by_pass && resolved.request.passes.size() > 1) {
    return std::make_unique<PassByPassMember>(resolved, resources, takes_turns);
  }
  if (resolved.external != nullptr) {
    return std::make_unique<ProgramMember>(resolved, resources, takes_turns);
  }
  return std::make_unique<WorkersMember>(resolved, resources, takes_turns);
}

}  // namespace

InterleaveMembers make_interleave_members(const std::vector<const ResolvedCase*>& cases,
                                          const InterleaveResources& resources) {
  InterleaveMembers members;
  std::vector<WorkerPool::Wanted> reused;
  for (const ResolvedCase* resolved : cases) {
    members.push_back(make_member(*resolved, resources, cases.size() > 1));
    const bool reuses = resolved->external == nullptr && !resolved->fresh_workers;
    if (reuses) reused.push_back(ranks_of(*resolved));
  }
  resources.pool.keep_for(std::move(reused));
  return members;
}

}  // namespace assay::run
