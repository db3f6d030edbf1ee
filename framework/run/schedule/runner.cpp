#include "run/schedule/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "run/external/exchange.h"
#include "run/external/permission.h"
#include "run/interleave/interleave_cases.h"
#include "run/interleave/interleave_choice.h"
#include "run/schedule/health_policy.h"
#include "run/schedule/pass_by_pass.h"
#include "run/schedule/provenance.h"
#include "run/workers/worker_group.h"
#include "store/records/identity.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;
using Doing = std::function<void(const std::string&)>;

class Run {
 public:
  Run(const RunRequest& request, store::Database& database, Observer& observer)
      : request_(request),
        database_(database),
        observer_(observer),
        machine_(watched_.machine()),
        surroundings_{request.catalogue, request.experiment, machine_,
                      request.catalogue.uses_cuda()},
        build_(request.installation),
        interleaving_(surroundings_, request.plan, request.allow_external),
        spare_(request.installation, interrupt_) {}

  Result<RunEnd> run() {
    if (auto begun = begin(); !begun) return tl::unexpected(begun.error());
    for (std::size_t index = 0; index < request_.plan.size() && !stopping(); ++index) {
      if (!is_left(index)) continue;
      const auto& together =
          interleaving_.members_with(index, [this](std::size_t other) { return is_left(other); });
      auto done = together.empty() ? run_case(open_case(index)) : run_in_turns(together);
      if (!done) return tl::unexpected(done.error());
    }
    if (!end_.interrupted) {
      if (auto finished = database_.finish_run(end_.run, timestamp_utc()); !finished) {
        return tl::unexpected(finished.error());
      }
    }
    return std::move(end_);
  }

 private:
  Result<void> begin() {
    if (auto begun = request_.resume ? resume() : begin_anew(); !begun) return begun;
    observer_.run_started(end_.run, request_.plan.size() - selection_.repeats, selection_.done);
    return {};
  }

  Result<void> begin_anew() {
    if (may_repeat(request_.plan)) select({});
    store::Session session = this_session();
    store::RunInfo info;
    info.experiment = request_.experiment.name;
    info.title = request_.experiment.title;
    info.experiment_text = std::move(session.experiment_text);
    info.experiment_file = std::move(session.experiment_file);
    info.overrides = std::move(session.overrides);
    info.started = timestamp_utc();
    info.machine = std::move(session.machine);
    info.provenance = std::move(session.provenance);
    auto name = database_.begin_numbered_run(std::move(info));
    if (!name) return tl::unexpected(name.error());
    end_.run = std::move(*name);
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
    const auto recorded = database_.recorded_cases(end_.run);
    if (!recorded) return tl::unexpected(recorded.error());
    select(*recorded);
    if (!selection_.wants_any()) return {};
    const auto session = database_.continue_run(end_.run, this_session());
    if (!session) return tl::unexpected(session.error());
    session_ = *session;
    if (selection_.places.empty()) return {};
    return database_.arrange_cases(end_.run, selection_.places);
  }

  void select(const std::map<std::string, store::RecordedCase>& recorded) {
    const auto identify = [this](std::size_t index) {
      const ResolvedCase resolved = resolved_case(index);
      store::CaseResult result;
      result.parameters = resolved.request.parameters;
      store::set_key(result);
      return CaseIdentity{result.key, BuildIdentity::identity(build_.files(resolved))};
    };
    selection_ = select_cases(request_.plan.size(), request_.experiment.passes, identify, recorded,
                              request_.again);
  }

  store::Session this_session() const {
    return {request_.experiment.text, request_.experiment.file, request_.overrides,
            to_json(machine_),
            collect_provenance(request_.installation, request_.catalogue, request_.experiment,
                               request_.plugins, request_.allow_external)};
  }

  ResolvedCase resolved_case(std::size_t index) const {
    return resolve(surroundings_, static_cast<std::int64_t>(index),
                   request_.plan.parameters(index));
  }

  bool stopping() {
    interrupt_.update();
    end_.interrupted = end_.interrupted || interrupt_.finish_case();
    return end_.interrupted;
  }

  // A case on its way to being recorded.
  struct OpenCase {
    ResolvedCase resolved;
    store::CaseResult result;
    BuildIdentity::Files files;                    // that measure it
    nlohmann::json build;                          // described, unless the database knows it
    std::optional<health::Watch::Ticket> watched;  // where it takes turns
    std::size_t index() const { return static_cast<std::size_t>(result.ordinal); }
  };

  OpenCase open_case(std::size_t index) {
    OpenCase open;
    open.resolved = resolved_case(index);
    open.result.ordinal = static_cast<std::int64_t>(index);
    open.result.parameters = open.resolved.request.parameters;
    store::set_key(open.result);
    open.files = build_.files(open.resolved);
    open.result.build = BuildIdentity::identity(open.files);
    if (!described_.contains(open.result.build)) open.build = build_.describe(open.files);
    open.result.session = session_;
    retire_workers_of_older_files();
    return open;
  }

  // Those that live may have loaded what since was built anew.
  void retire_workers_of_older_files() {
    if (changes_seen_ == build_.changes()) return;
    changes_seen_ = build_.changes();
    workers_.reset();
    spare_.clear();
  }

  // Nobody knows which of the two binaries the times are of. What is stored is of a build that is
  // neither, so that `--resume` measures the case again whichever of them is there then.
  void refuse_changed_files(OpenCase& open, CaseEnd& end) {
    if (end.outcome == Outcome::skipped) return;
    const auto files = build_.files(open.resolved);
    if (files == open.files) return;
    open.build = build_.describe(open.files);
    open.build["changed_to"] = build_.describe(files)["files"];
    open.result.build = sha256_hex(open.result.build + BuildIdentity::identity(files));
    const std::string otherwise =
        end.outcome == Outcome::ok
            ? ""
            : fmt::format("; it had ended as {}: {}", to_text(end.outcome), end.reason);
    end.series.clear();
    end.outcome = Outcome::error;
    end.reason =
        fmt::format("{} changed while the case was measured; `--resume` measures it again{}",
                    join(changed_between(open.files, files), " and "), otherwise);
  }

  bool is_left(std::size_t index) const {
    return selection_.wants(index) && !measured_.contains(index);
  }

  void begin_case(OpenCase& open) {
    observer_.case_started(open.index(), request_.plan.describe(open.index()));
    open.result.when = timestamp_utc();
  }

  Result<void> run_case(OpenCase open, std::string why_apart = {}) {
    begin_case(open);
    const auto start = Clock::now();
    CaseEnd end = watched_.execute(
        open.resolved, [&] { return execute(open.resolved); },
        [this](const std::string& what) { observer_.case_doing(what); },
        [this] { return stopping(); });
    if (end.interrupted) {
      end_.interrupted = true;
      return {};
    }
    if (workers_) end.context.emplace("versions", workers_->versions());
    if (why_apart.empty()) why_apart = interleaving_.why_apart(open.index());
    if (!why_apart.empty()) end.context["interleaved"] = {{"apart", std::move(why_apart)}};
    return finish_case(open, std::move(end),
                       std::chrono::duration<double>(Clock::now() - start).count());
  }

  Result<void> finish_case(OpenCase& open, CaseEnd end, double wall_s) {
    store::CaseResult& result = open.result;
    refuse_changed_files(open, end);
    complete_passes(open.resolved.request.passes, end);
    if (open.resolved.external != nullptr && end.outcome != Outcome::skipped) {
      end.context["leave"] = request_.allow_external ? "--allow-external" : trusted_variable;
    }
    result.outcome = end.outcome;
    result.reason = std::move(end.reason);
    result.series = std::move(end.series);
    result.wall_s = wall_s;
    result.context = {{"passes", open.resolved.request.passes}};
    result.context.update(end.context);
    if (auto recorded = record(open); !recorded) return recorded;
    ++end_.outcomes[result.outcome];
    measured_.insert(open.index());
    observer_.case_finished(result);
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
    Error error = std::move(done.error());
    error.diagnostics.push_back(
        {{},
         fmt::format(
             "the run {} ends here: {} of {} cases are stored, the result of case {} is not",
             end_.run, stored, request_.plan.size() - selection_.repeats, result.ordinal + 1),
         fmt::format("`--resume {}` does the rest once the database can be written", end_.run)});
    return tl::unexpected(std::move(error));
  }

  // The cases at these places of the plan, each of which is recorded as soon as it has ended.
  Result<void> run_in_turns(const std::vector<std::size_t>& indices) {
    std::vector<OpenCase> cases;
    for (const std::size_t index : indices) cases.push_back(open_case(index));
    std::vector<InTurns> members;
    int processes = 0;
    for (const OpenCase& open : cases) {
      processes += processes_of(open.resolved);
      members.push_back({&open.resolved, open.result.key, interleaving_.name_of(open.index())});
    }
    if (workers_) spare_.add(std::move(*workers_));
    workers_.reset();
    Result<void> recorded;
    const auto alone = measure_in_turns(
        members, spare_, interrupt_,
        {.stop = [&] { return !recorded || stopped_now(); },
         .begins =
             [&](std::size_t member) {
               begin_case(cases[member]);
               cases[member].watched = watched_.begin(cases[member].resolved);
             },
         .doing = [&](const std::string& what) { observer_.case_doing(what + ", in turns"); },
         .ended =
             [&](std::size_t member, CaseEnd end, double worked_s) {
               OpenCase& open = cases[member];
               observer_.case_started(open.index(), request_.plan.describe(open.index()));
               if (const auto ticket = std::exchange(open.watched, std::nullopt)) {
                 const int beside = processes - processes_of(open.resolved);
                 end = watched_.end(*ticket, open.resolved, beside, std::move(end));
               }
               auto done = finish_case(open, std::move(end), worked_s);
               if (!done && recorded) recorded = std::move(done);
             }});
    for (OpenCase& open : cases) {
      if (const auto ticket = std::exchange(open.watched, std::nullopt)) watched_.drop(*ticket);
    }
    for (const Alone& one : alone) {
      if (!recorded || stopped_now()) break;
      recorded = run_case(std::move(cases[one.member]), one.why);
    }
    return recorded;
  }

  bool stopped_now() {
    interrupt_.update();
    end_.interrupted = end_.interrupted || interrupt_.stop_now();
    return interrupt_.stop_now();
  }

  CaseEnd execute(const ResolvedCase& resolved) {
    CaseEnd end;
    if (resolved.skipped) {
      end.outcome = Outcome::skipped;
      end.reason = *resolved.skipped;
      return end;
    }
    if (resolved.pass_by_pass && resolved.request.passes.size() > 1) {
      return measure_pass_by_pass(resolved,
                                  [this](const ResolvedCase& one) { return execute(one); });
    }
    const Doing doing = [this](const std::string& what) { observer_.case_doing(what); };
    if (resolved.external != nullptr) {
      if (auto refused = why_no_leave(*resolved.external, request_.allow_external)) {
        end.outcome = Outcome::skipped;
        end.reason = std::move(*refused);
        return end;
      }
      return execute_external(resolved, doing);
    }
    return execute_on_workers(resolved.request, resolved, doing);
  }

  CaseEnd execute_external(const ResolvedCase& resolved, const Doing& doing) {
    // Its program needs the memory that our idle workers may still hold.
    workers_.reset();
    spare_.clear();
    const ExchangeFolder folder;
    return checked_by_workers(run_external_case(resolved, request_.installation.peers(),
                                                folder.path(), interrupt_, doing),
                              folder, resolved, [&](const wire::CaseRequest& request) {
                                return execute_on_workers(request, resolved, doing);
                              });
  }

  CaseEnd execute_on_workers(const wire::CaseRequest& request, const ResolvedCase& resolved,
                             const Doing& doing) {
    if (auto ready = ready_workers(request, resolved.fresh_workers); !ready) {
      return ended_without_workers(ready.error().text(), interrupt_);
    }
    CaseEnd end = workers_->run_case(request, resolved.time_limit_s, interrupt_, doing);
    if (!end.reusable) workers_.reset();
    return end;
  }

  Result<void> ready_workers(const wire::CaseRequest& request, bool fresh) {
    const Value& size = request.parameters.at("world_size");
    const int world_size = static_cast<int>(std::get<std::int64_t>(size));
    if (workers_) spare_.add(std::move(*workers_));
    workers_.reset();
    // Others would hold memory that this case may need.
    spare_.keep_for(fresh ? std::vector<int>{} : std::vector<int>{world_size});
    auto ready = spare_.take(world_size, fresh);
    if (!ready) return tl::unexpected(ready.error());
    workers_.emplace(std::move(*ready));
    return {};
  }

  const RunRequest& request_;
  store::Database& database_;
  Observer& observer_;
  WatchedMachine watched_;
  const Machine& machine_;
  Surroundings surroundings_;
  BuildIdentity build_;
  Interleaving interleaving_;
  Interrupt interrupt_{[this] { observer_.interrupted(); }};
  SpareGroups spare_;
  Selection selection_;
  std::optional<store::RunClaim> claim_;
  std::size_t changes_seen_ = 0;     // of the files that measure
  int session_ = 0;                  // of the results, as the database counts
  std::set<std::string> described_;  // builds that the database knows
  std::set<std::size_t> measured_;   // places of the plan, by this session
  std::optional<WorkerGroup> workers_;
  RunEnd end_;
};

}  // namespace

Result<RunEnd> run_experiment(const RunRequest& request, store::Database& database,
                              Observer& observer) {
  return Run(request, database, observer).run();
}

}  // namespace assay::run
