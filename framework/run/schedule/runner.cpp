#include "run/schedule/runner.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "run/external/permission.h"
#include "run/interleave/interleave_member.h"
#include "run/interleave/pass_by_pass.h"
#include "run/schedule/artefacts.h"
#include "run/schedule/changed_files.h"
#include "run/schedule/health_policy.h"
#include "run/schedule/launch.h"
#include "run/schedule/provenance.h"
#include "run/schedule/under_tool.h"
#include "run/workers/case_sense.h"
#include "store/database/baselines.h"
#include "store/records/identity.h"

namespace assay::run {

namespace {

class Run {
 public:
  // launched: outlives this.
  Run(const RunRequest& request, store::Database& database, Observer& observer,
      Interrupt& interrupt, WatchedMachine& watched_machine, const Launched& launched)
      : request_(request),
        database_(database),
        observer_(observer),
        interrupt_(interrupt),
        watched_machine_(watched_machine),
        launched_(launched),
        build_(request.installation),
        work_(work_of(request, launched.machine)),
        ceilings_(request.ceilings ? request.ceilings(to_json(watched_machine.machine()))
                                   : std::vector<DeviceCeilings>()),
        pool_(request.installation, interrupt_, tool()) {
    if (launched.job != nullptr) pool_.use(*launched.job);
  }

  Result<RunEnd> run() {
    if (auto fits = check_under(tool(), work_); !fits) return tl::unexpected(fits.error());
    // Before the first case, so that no compiler works beside a measurement.
    build_compiled();
    if (auto begun = begin(); !begun) return tl::unexpected(begun.error());
    for (std::size_t index = 0; index < work_.size() && !stopping(); ++index) {
      if (!is_left(index)) continue;
      Group group;
      const auto together =
          work_.members_with(index, [this](std::size_t other) { return is_left(other); });
      for (const std::size_t member : together) group.cases.push_back(open_case(member));
      if (together.empty()) group.cases.push_back(open_case(index));
      if (auto done = measure(std::move(group)); !done) return tl::unexpected(done.error());
    }
    if (auto refused = refuse_changed_cases(); !refused) return tl::unexpected(refused.error());
    if (!end_.interrupted) {
      if (auto finished = database_.finish_run(end_.run, timestamp_utc()); !finished) {
        return tl::unexpected(finished.error());
      }
    }
    return std::move(end_);
  }

 private:
  const ProfilingTool* tool() const { return request_.under ? &*request_.under : nullptr; }

  void build_compiled() {
    const auto needs = work_.compiled_needs();
    if (!needs.empty() && request_.build_compiled) {
      compiled_ = request_.build_compiled(needs, [this] { return stopping(); });
    }
    work_.use(compiled_);
  }

  Result<void> begin() {
    if (auto begun = request_.resume ? resume() : begin_anew(); !begun) return begun;
    observer_.run_started(end_.run, total(), selection_.done);
    return {};
  }

  std::size_t total() const { return work_.count_chosen() - selection_.repeats; }

  Result<void> begin_anew() {
    if (work_.may_repeat() || work_.of_suite()) select({});
    store::RunInfo info;
    info.experiment = request_.experiment.name;
    info.title = request_.experiment.title;
    info.first = this_session();
    info.started = timestamp_utc();
    if (!request_.baseline.empty()) {
      info.first.provenance[store::baseline_member] = request_.baseline;
    }
    if (request_.name.empty()) {
      auto name = database_.begin_numbered_run(std::move(info));
      if (!name) return tl::unexpected(name.error());
      end_.run = std::move(*name);
    } else {
      info.name = end_.run = request_.name;
      if (auto begun = database_.begin_run(info); !begun) return begun;
    }
    return claim();
  }

  Result<void> claim() {
    auto claim = database_.claim_run(end_.run);
    if (!claim) return tl::unexpected(claim.error());
    claim_.emplace(std::move(*claim));
    return {};
  }

  Result<void> resume() {
    end_.run = *request_.resume;
    if (auto claimed = claim(); !claimed) return claimed;
    const auto info = database_.run_info(end_.run);
    if (!info) return tl::unexpected(info.error());
    if (auto same = check_begun_under(tool(), *info); !same) return same;
    const auto recorded = database_.recorded_cases(end_.run);
    if (!recorded) return tl::unexpected(recorded.error());
    select(*recorded);
    // A suite's record may have changed although no case did.
    if (!selection_.wants_any() && !work_.of_suite()) return {};
    store::Session now = this_session();
    if (const std::string baseline = store::baseline_name(*info); !baseline.empty()) {
      now.provenance[store::baseline_member] = baseline;
    }
    const auto session = database_.continue_run(end_.run, now);
    if (!session) return tl::unexpected(session.error());
    session_ = *session;
    if (selection_.places.empty()) return {};
    return database_.arrange_cases(end_.run, selection_.places);
  }

  void select(const std::map<std::string, store::RecordedCase>& recorded) {
    std::vector<std::size_t> chosen;
    for (std::size_t index = 0; index < work_.size(); ++index) {
      if (work_.chosen(index)) chosen.push_back(index);
    }
    const auto identify = [&](std::size_t place) {
      const ResolvedCase resolved = resolved_case(chosen[place]);
      store::CaseResult result;
      result.parameters = resolved.request.parameters;
      store::set_key(result);
      return CaseIdentity{result.key, BuildIdentity::identity(build_.files(resolved)),
                          resolved.request.passes};
    };
    selection_ = select_cases(chosen.size(), identify, recorded, request_.again);
    std::vector<bool> wanted(work_.size(), false);
    for (std::size_t place = 0; place < chosen.size(); ++place) {
      wanted[chosen[place]] = selection_.wanted[place];
    }
    selection_.wanted = std::move(wanted);
    for (auto& [key, place] : selection_.places) {
      place = static_cast<std::int64_t>(chosen[static_cast<std::size_t>(place)]);
    }
  }

  store::Session this_session() const {
    nlohmann::json provenance =
        collect_provenance(request_.installation, request_.catalogue, request_.experiment,
                           request_.plugins, request_.allow_external);
    if (tool() != nullptr) provenance["under"] = tool()->name();
    if (work_.of_suite()) {
      provenance["suite"] = store::to_json(work_.described(request_.suite, request_.chapters));
    }
    return {request_.experiment.text, request_.experiment.file, request_.overrides,
            machine_of_session(launched_), std::move(provenance)};
  }

  ResolvedCase resolved_case(std::size_t index) const {
    ResolvedCase resolved = work_.resolved(index);
    if (tool() != nullptr && resolved.external != nullptr && !resolved.skipped) {
      resolved.skipped =
          fmt::format("{} starts workers only, not external variants", tool()->name());
    }
    return resolved;
  }

  bool stopping() {
    interrupt_.update();
    end_.interrupted = end_.interrupted || interrupt_.finish_case();
    return end_.interrupted;
  }

  struct OpenCase {
    ResolvedCase resolved;
    store::CaseResult result;
    BuildIdentity::Files files;  // they measure it
    nlohmann::json build;        // its description; null where the database has it
    WatchedCase watched;
    std::size_t index() const { return static_cast<std::size_t>(result.ordinal); }
  };

  OpenCase open_case(std::size_t index) {
    ResolvedCase resolved = resolved_case(index);
    BuildIdentity::Files files = build_.files(resolved);
    WatchedCase watched = watched_machine_.watch(resolved, launched_.job.get());
    OpenCase open = {
        .resolved = std::move(resolved), .files = std::move(files), .watched = std::move(watched)};
    open.result.ordinal = static_cast<std::int64_t>(index);
    open.result.parameters = open.resolved.request.parameters;
    store::set_key(open.result);
    open.result.build = BuildIdentity::identity(open.files);
    if (!described_.contains(open.result.build)) open.build = build_.describe(open.files);
    open.result.session = session_;
    retire_workers_of_older_files();
    return open;
  }

  // Living workers may have loaded files that were rebuilt since.
  void retire_workers_of_older_files() {
    if (changes_seen_ == build_.changes()) return;
    changes_seen_ = build_.changes();
    pool_.clear();
  }

  bool is_left(std::size_t index) const {
    return selection_.wants(index) && !measured_.contains(index);
  }

  Result<void> finish_case(OpenCase& open, CaseEnd end) {
    store::CaseResult& result = open.result;
    mark_simulated_nodes(launched_, open.resolved, end);
    refuse_changed_files(build_, open.resolved, open.files, open.build, result.build, end);
    if (request_.under) drop_measured(*request_.under, end);
    complete_passes(open.resolved.request.passes, end);
    if (open.resolved.external != nullptr && end.outcome != Outcome::skipped) {
      end.facts.permission = request_.allow_external ? "--allow-external" : trusted_variable;
    }
    result.outcome = end.outcome;
    result.reason = std::move(end.reason);
    result.series = std::move(end.series);
    result.facts = std::move(end.facts);
    result.facts.passes = open.resolved.request.passes;
    mark_impossible(ceilings_, result);
    TakenArtefacts taken = take_artefacts(end.artefacts, result.key, request_.results / end_.run,
                                          open.resolved.request.artefact_limit_bytes);
    result.artefacts = std::move(taken.artefacts);
    std::move(taken.marks.begin(), taken.marks.end(), std::back_inserter(result.facts.marks));
    if (auto recorded = record(open); !recorded) return recorded;
    ++end_.outcomes[result.outcome];
    measured_[open.index()] = result.outcome;
    observer_.case_finished(result);
    return {};
  }

  // What somebody else has written to the cases that this session has stored is no measurement.
  Result<void> refuse_changed_cases() {
    const auto changed = database_.changed_cases(end_.run);
    if (!changed || changed->empty())
      return changed ? Result<void>() : tl::unexpected(changed.error());
    const std::set<std::string> keys(changed->begin(), changed->end());
    for (auto& [index, outcome] : measured_) {
      OpenCase open = open_case(index);
      store::CaseResult& result = open.result;
      if (!keys.contains(result.key)) continue;
      CaseEnd end;
      refuse(end, open.resolved.request.passes, Outcome::error,
             "somebody else wrote to the stored results of this case during the run");
      result.outcome = end.outcome;
      result.reason = std::move(end.reason);
      result.series = std::move(end.series);
      result.facts.passes = open.resolved.request.passes;
      result.when = timestamp_utc();
      if (auto recorded = record(open); !recorded) return recorded;
      --end_.outcomes[std::exchange(outcome, result.outcome)];
      ++end_.outcomes[result.outcome];
    }
    std::erase_if(end_.outcomes, [](const auto& count) { return count.second == 0; });
    return {};
  }

  Result<void> record(const OpenCase& open) {
    const store::CaseResult& result = open.result;
    Result<void> done;
    if (!described_.contains(result.build)) {
      done = database_.describe_build(end_.run, result.build, open.build);
    }
    if (done) {
      described_.insert(result.build);
      done = database_.record_case(end_.run, result);
    }
    if (done) return done;
    std::size_t stored = selection_.done;
    for (const auto& [outcome, count] : end_.outcomes) stored += count;
    return tl::unexpected(
        ends_here(std::move(done.error()), end_.run, stored, total(), result.ordinal));
  }

  struct Group {
    std::vector<OpenCase> cases;
    std::string why_apart = {};  // why a single case does not take turns as planned
    std::vector<std::string> names = {};
    int processes = 0;
    bool retry = false;                                            // of a single case
    std::vector<std::pair<std::size_t, std::string>> harmed = {};  // by the others, and how
    Result<void> recorded = {};
    bool in_turns() const { return cases.size() > 1; }
  };

  // Records each case as soon as it has ended, then measures those alone that the others harmed.
  Result<void> measure(Group group) {
    if (const auto& resolved = group.cases.front().resolved;
        resolved.skipped || resolved.not_built) {
      return leave_out(group);
    }
    const InterleaveResources resources = {
        pool_, interrupt_, [&](const std::string& what) {
          observer_.case_doing(group.in_turns() ? what + ", in turns" : what);
        }};
    std::vector<const ResolvedCase*> cases;
    for (const OpenCase& open : group.cases) {
      cases.push_back(&open.resolved);
      group.names.push_back(work_.name_in_group(open.index()));
      group.processes += processes_of(open.resolved);
    }
    const InterleaveRules rules = rules_of(group);
    do {
      interleave(make_interleave_members(cases, resources), rules);
    } while (std::exchange(group.retry, false));
    if (!group.in_turns()) conclude(group, group.cases.front());  // a stop may have dropped it
    for (const auto& [member, why] : group.harmed) {
      if (!group.recorded) break;
      if (stopped_now()) {
        conclude(group, group.cases[member]);
        continue;
      }
      Group single = {.cases = {}, .why_apart = why};
      single.cases.push_back(std::move(group.cases[member]));
      if (single.cases.front().watched.tried()) begin_case(single.cases.front());
      group.recorded = measure(std::move(single));
    }
    return std::move(group.recorded);
  }

  InterleaveRules rules_of(Group& group) {
    InterleaveRules rules;
    const wire::CaseRequest& first = group.cases.front().resolved.request;
    rules.seed = store::integer_of(first.parameters, "measure.seed", 0);
    rules.passes = first.passes;
    for (const OpenCase& open : group.cases) rules.keys.push_back(open.result.key);
    rules.stop = [&] { return !group.recorded || stopped_now(); };
    rules.begins = [&](std::size_t member) {
      OpenCase& open = group.cases[member];
      if (!open.watched.tried()) begin_case(open);
      open.watched.begin();
    };
    rules.ended = [&](std::size_t member, InterleaveEnd end) {
      member_ended(group, member, std::move(end));
    };
    return rules;
  }

  void member_ended(Group& group, std::size_t member, InterleaveEnd ended) {
    OpenCase& open = group.cases[member];
    CaseEnd& end = ended.end;
    end_.interrupted = end_.interrupted || end.interrupted;
    std::string harm;
    if (group.in_turns() && !end.interrupted) {
      harm = harm_by_others(end, ended.beside_others || !pool_.empty());
    }
    const bool is_harmed = !harm.empty();
    if (is_harmed) group.harmed.emplace_back(member, std::move(harm));
    if (is_harmed && end.outcome != Outcome::ok) return;
    if (group.in_turns()) {
      end.facts.interleaved = interleave_fact(member, group.names, ended.turns);
    } else {
      note_why_apart(group, end);
    }
    if (tool() == nullptr) open.result.wall_s += ended.worked_s;
    open.watched.end(std::move(end), group.processes - processes_of(open.resolved), is_harmed);
    if (is_harmed) return;
    if (const auto next = open.watched.next_try(); next && !stopping()) {
      observer_.case_doing(*next);
      group.retry = true;
      return;
    }
    conclude(group, open);
  }

  // Records the try that is kept, if one has ended and is not recorded.
  void conclude(Group& group, OpenCase& open) {
    auto kept = open.watched.conclude();
    if (!kept) return;
    if (group.in_turns()) announce(open);
    auto done = finish_case(open, std::move(*kept));
    if (!done && group.recorded) group.recorded = std::move(done);
  }

  void note_why_apart(const Group& group, CaseEnd& end) const {
    const std::string why =
        group.why_apart.empty() ? work_.why_apart(group.cases.front().index()) : group.why_apart;
    if (!why.empty()) end.facts.interleaved = store::InterleaveFacts{.apart = why};
  }

  Result<void> leave_out(Group& group) {
    OpenCase& open = group.cases.front();
    begin_case(open);
    CaseEnd end;
    end.outcome = open.resolved.skipped ? Outcome::skipped : open.resolved.not_built->outcome;
    end.reason = open.resolved.skipped ? *open.resolved.skipped : open.resolved.not_built->reason;
    note_why_apart(group, end);
    return finish_case(open, std::move(end));
  }

  void announce(const OpenCase& open) {
    observer_.case_started(open.index(), work_.describe(open.index()));
  }

  void begin_case(OpenCase& open) {
    announce(open);
    open.result.when = timestamp_utc();
  }

  bool stopped_now() {
    interrupt_.update();
    end_.interrupted = end_.interrupted || interrupt_.stop_now();
    return interrupt_.stop_now();
  }

  const RunRequest& request_;
  store::Database& database_;
  Observer& observer_;
  Interrupt& interrupt_;
  WatchedMachine& watched_machine_;
  const Launched& launched_;
  CompiledLibraries compiled_;
  BuildIdentity build_;
  Work work_;
  std::vector<DeviceCeilings> ceilings_;  // of this machine
  WorkerPool pool_;
  Selection selection_;
  std::optional<store::RunClaim> claim_;
  std::size_t changes_seen_ = 0;             // of build_
  int session_ = 0;                          // as the database counts
  std::set<std::string> described_;          // builds that the database has
  std::map<std::size_t, Outcome> measured_;  // by this session, by index in the plan
  RunEnd end_;
};

}  // namespace

Result<RunEnd> run_experiment(const RunRequest& request, store::Database& database,
                              Observer& observer) {
  // Ahead of the machine: the GPU's driver starts threads, which inherit the blocked signals.
  Interrupt interrupt([&] { observer.interrupted(); });
  WatchedMachine machine;
  const auto launched = launch(request, machine.machine(), interrupt, observer);
  if (!launched) return tl::unexpected(launched.error());
  return Run(request, database, observer, interrupt, machine, *launched).run();
}

}  // namespace assay::run
