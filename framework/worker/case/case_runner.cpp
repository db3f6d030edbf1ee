#include "worker/case/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "measure/device.h"
#include "measure/memory.h"
#include "worker/case/built_case.h"
#include "worker/case/case_recording.h"
#include "worker/case/case_verifier.h"
#include "worker/case/observation.h"
#include "worker/pass/pass_measurement.h"
#include "worker/process/guards.h"

namespace assay::worker {

namespace {

class CaseRun {
 public:
  CaseRun(const SharedCode& shared, PluginLoader& loader, ProcessGroups& groups,
          const Placement& placement, const wire::CaseRequest& request, const CaseSink& sink)
      : loader_(loader),
        placement_(placement),
        request_(request),
        sink_(sink),
        case_(shared, loader, groups, placement, request) {}

  Status run() {
    const Status built = guarded([&] { build(); });
    if (!built.ok()) {
      for (const std::string& pass : request_.passes) report_failure(pass, built);
      case_.release(sink_.facts);
      return built;
    }
    time_passes();
    run_unclocked();
    observe(false);
    // Ranks that went on wait for a failed one, so it reports at once.
    if (!unverified_.empty() && may_go_on()) verify_held();
    observe(true);
    case_.release(sink_.facts);
    return conclude();
  }

 private:
  void build() {
    sink_.progress("building");
    case_.compose();
    if (!verifier_.comes_last()) {
      take_first_calls();
      verify_untimed();
    }
    case_.build();
  }

  // Runs before any other call: verification would already warm up. Drops its program, since the
  // timed one must start as it was built.
  void take_first_calls() {
    // A communication variant serves one model.
    const auto communication = make_communication(loader_, request_.parameters);
    CaseContext context = case_.composition().context;
    context.communication = communication.get();
    std::unique_ptr<ProgramBoundary> program;
    const std::int64_t before_bytes = measure::allocated_bytes(case_.device());
    throw_unless_ok(case_.composition().workload->build(context, program));
    case_.stage_ended("building");
    for (const std::string& pass : request_.passes) {
      if (unclocked(pass)) continue;
      sink_.progress("first call of " + pass);
      const Status status = guarded([&] {
        first_calls_s_[pass] =
            take_first_call(case_.composition(), *program, pass, request_.parameters);
      });
      case_.bytes().called =
          std::max(case_.bytes().called, measure::allocated_bytes(case_.device()) - before_bytes);
      if (status.ok()) {
        report_startup(pass);
        continue;
      }
      throw_if_others_wait(status);
      failed_[pass] = status;
    }
    program.reset();
    measure::empty_cache(case_.device());
  }

  // Once, with the pass that was called first.
  void report_startup(const std::string& pass) {
    std::optional<Startup>& startup = case_.startup();
    if (!startup) return;
    startup->ended("first call");
    for (store::Series& series : startup->series(pass)) send(std::move(series));
    startup.reset();
  }

  void time_passes() {
    for (const std::string& pass : request_.passes) {
      if (failed_.contains(pass) || unclocked(pass)) continue;
      sink_.progress(pass);
      const Status status = guarded([&] { time_pass(pass); });
      // Other passes have the same inputs; a pass that has failed leaves them as its last call's.
      if (!status.ok()) static_cast<void>(guarded([&] { case_.renewal_of(pass).restore(); }));
      measure::empty_cache(case_.device());
      if (!unverified_.contains(pass)) report_verification(pass);
      if (status.ok()) continue;
      failed_[pass] = status;
      if (placement_.world_size > 1) break;
    }
  }

  // A pass that fails here is not timed. A pass that has already thrown is verified too:
  // verification may give a better reason.
  void verify_untimed() {
    sink_.progress("verifying");
    for (const std::string& pass : request_.passes) {
      const auto failed = failed_.find(pass);
      if (failed != failed_.end() && failed->second.outcome != Outcome::error) continue;
      const Status status = verifier_.verify(case_.composition(), pass, Moment::before);
      if (status.ok()) continue;
      failed_.insert_or_assign(pass, status);
      report_verification(pass);
      throw_if_others_wait(status);
    }
    measure::empty_cache(case_.device());
  }

  // The other ranks may have found nothing wrong and wait for this one in the next step.
  void throw_if_others_wait(const Status& status) const {
    if (placement_.world_size > 1 && status.outcome != Outcome::unsupported)
      throw_unless_ok(status);
  }

  void time_pass(const std::string& pass) {
    recording_.begin_workload(pass, case_.composition().metrics);
    PassReport report =
        measure_pass({.composition = case_.composition(),
                      .program = case_.program(),
                      .bytes = case_.bytes(),
                      .pass = pass,
                      .parameters = request_.parameters,
                      .caches = case_.caches(),
                      .build_another = [this] { return case_.build_another(); },
                      .build_plain = [this] { return case_.build_plain(); },
                      .renewal = case_.renewal_of(pass),
                      .integrity = case_.integrity(),
                      .secret = case_.secret(),
                      .tolerance = verifier_.found().tolerance(case_.composition(), pass),
                      .memory_floor = case_.memory_floor(),
                      .freed = case_.freed(),
                      .state = case_.state(),
                      .await_turn = sink_.await_turn,
                      .recorder = recording_.recorder(),
                      .first_call_s = first_call_s(pass)});
    sink_.facts.timing[pass] = std::move(report.timing);
    sink_.facts.verification[pass].repeated = report.output_facts;
    sink_.facts.verification[pass].timed = report.look_facts;
    throw_unless_ok(report.outputs);
    recording_.note(pass, report.traced);
    recording_.record(case_.program(), pass, report.series);
    if (verifier_.comes_last() || !verified_again(pass)) {
      unverified_[pass] = std::move(report.series);
      return;
    }
    for (store::Series& series : report.series) send(std::move(series));
  }

  bool unclocked(const std::string& pass) const {
    return std::ranges::count(case_.composition().unclocked, pass) > 0;
  }

  // Other ranks wait for one that has failed, in its next step.
  bool may_go_on() const {
    return placement_.world_size == 1 || (failed_.empty() && recording_.first_failure().ok());
  }

  void run_unclocked() {
    for (const std::string& pass : request_.passes) {
      if (!unclocked(pass) || failed_.contains(pass)) continue;
      if (!may_go_on()) return;
      sink_.progress(pass);
      const Status status = guarded([&] { run_unclocked(pass); });
      report_verification(pass);
      if (!status.ok()) failed_[pass] = status;
    }
  }

  void run_unclocked(const std::string& pass) {
    if (verifier_.comes_last())
      throw_unless_ok(verifier_.verify(case_.composition(), pass, Moment::before));
    recording_.begin_workload(pass, case_.composition().metrics);
    throw_unless_ok(case_.program().before(pass));
    throw_unless_ok(case_.program().run(pass));
    measure::synchronize(case_.device());
    std::vector<store::Series> series;
    recording_.record(case_.program(), pass, series);
    add_counts(pass, case_.composition(), case_.program(), series);
    for (store::Series& recorded : series) send(std::move(recorded));
  }

  // All passes have been timed, here and in the cases that take turns with this one. Fresh
  // observers follow the others and have the memory of the timed program.
  void observe(bool fresh) {
    for (const std::string& name : request_.observers) {
      std::unique_ptr<ObserverBoundary> observer;
      bool wants_fresh = false;
      const Status made = guarded([&] {
        observer = make_observer(loader_, request_.parameters, name);
        throw_unless_ok(observer->fresh(wants_fresh));
      });
      if (!made.ok()) recording_.note("under " + name, made);
      if (!made.ok() || wants_fresh != fresh || !may_go_on()) continue;
      await_observation();
      if (fresh) case_.release_program();
      for (const std::string& pass : request_.passes) {
        if (failed_.contains(pass) || !may_go_on()) continue;
        sink_.progress(fmt::format("{} under {}", pass, name));
        observe(*observer, name, pass);
      }
    }
  }

  void await_observation() {
    if (sink_.await_turn && !std::exchange(observing_, true)) {
      sink_.await_turn(wire::observing_turn, 0, 1);
    }
  }

  void observe(ObserverBoundary& observer, const std::string& name, const std::string& pass) {
    recording_.begin_observer(pass, name, observer_metrics(loader_, name));
    store::Series took = {.pass = pass, .metric = "observed_time", .part = name, .unit = "s"};
    took.clock = observed_clock(store::text_of(request_.parameters, "measure.clock"));
    const FileSizeLimit limit(request_.artefact_limit_bytes);
    Status status =
        observe_pass(observer, {.pass = pass,
                                .clock = took.clock,
                                .steps = static_cast<int>(store::integer_of(
                                    request_.parameters, "measure.observed_steps", 3)),
                                .composition = &case_.composition(),
                                .program = &case_.program(),
                                .build_another = [this] { return case_.build_another(); },
                                .context = case_.composition().context,
                                .recorder = recording_.recorder(),
                                .took = [&](double s) { took.samples.push_back(s); }});
    if (status.ok()) status = guarded([&] { recording_.recorder().check_files(); });
    for (store::Series& recorded : recording_.recorder().take_series()) send(std::move(recorded));
    took.outcome = status.outcome;
    took.reason = status.reason;
    if (!status.ok()) took.samples.clear();
    send(std::move(took));
    if (status.outcome != Outcome::unsupported) recording_.note(pass + " under " + name, status);
  }

  std::optional<double> first_call_s(const std::string& pass) const {
    const auto found = first_calls_s_.find(pass);
    return found == first_calls_s_.end() ? std::nullopt : std::optional(found->second);
  }

  // Verifies again, since a variant may be right at first and wrong later. Returns false where the
  // program leaves too little memory: verify_held() then follows. Throws what makes the pass wrong.
  bool verified_again(const std::string& pass) {
    sink_.progress("verifying");
    measure::empty_cache(case_.device());
    Status status = verifier_.verify(case_.composition(), pass, Moment::after);
    measure::empty_cache(case_.device());
    if (status.outcome == Outcome::oom) return false;
    throw_unless_ok(std::move(status));
    return true;
  }

  // Verifies in the memory that the released program leaves. Unverified passes count as not
  // measured.
  void verify_held() {
    sink_.progress("verifying");
    const Status released = guarded([&] { case_.release_program(); });
    for (auto& [pass, held] : unverified_) {
      Status status = released;
      if (status.ok()) status = verifier_.verify(case_.composition(), pass, Moment::after);
      // What one pass has captured is not given back while the next is being captured.
      measure::empty_cache(case_.device());
      report_verification(pass);
      if (!status.ok()) {
        failed_.try_emplace(pass, status);
        if (placement_.world_size > 1) break;
        continue;
      }
      for (store::Series& series : held) send(std::move(series));
      held.clear();
    }
  }

  void report_verification(const std::string& pass) {
    if (const auto error = verifier_.found().error(pass)) {
      send({.pass = pass, .metric = "error", .samples = {*error}});
    }
    verifier_.found().tell(pass, sink_.facts.verification[pass]);
  }

  void send(store::Series series) {
    series.rank = placement_.rank;
    sink_.measured(std::move(series));
  }

  // Passes still held back could not be verified, since this rank failed before.
  void fail_unverified() {
    if (failed_.empty()) return;
    const Status failure = failed_.begin()->second;
    for (const auto& [pass, held] : unverified_) {
      if (!held.empty()) failed_.try_emplace(pass, failure);
    }
  }

  Status conclude() {
    fail_unverified();
    Status worst;
    for (const std::string& pass : request_.passes) {
      const auto failed = failed_.find(pass);
      if (failed == failed_.end()) continue;
      report_failure(pass, failed->second);
      if (worst.ok() || worst.outcome == Outcome::unsupported) worst = failed->second;
    }
    sink_.artefacts = recording_.recorder().artefacts();
    return worst.ok() ? recording_.first_failure() : worst;
  }

  void report_failure(const std::string& pass, const Status& status) {
    send({.pass = pass,
          .metric = "time",
          .unit = "s",
          .outcome = status.outcome,
          .reason = status.reason});
  }

  PluginLoader& loader_;
  const Placement& placement_;
  const wire::CaseRequest& request_;
  const CaseSink& sink_;
  BuiltCase case_;
  CaseVerifier verifier_{loader_, request_.parameters};
  CaseRecording recording_{request_, placement_.rank};
  bool observing_ = false;
  std::map<std::string, double> first_calls_s_;                   // by pass
  std::map<std::string, Status> failed_;                          // untimed passes, with the reason
  std::map<std::string, std::vector<store::Series>> unverified_;  // held-back results of each pass
};

}  // namespace

Status run_case(const SharedCode& shared, PluginLoader& loader, ProcessGroups& groups,
                const Placement& placement, const wire::CaseRequest& request,
                const CaseSink& sink) {
  Status status;
  const Status outer = guarded([&] {
    CaseRun run(shared, loader, groups, placement, request, sink);
    status = run.run();
  });
  return outer.ok() ? status : outer;
}

}  // namespace assay::worker
