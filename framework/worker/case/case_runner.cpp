#include "worker/case/case_runner.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "measure/device.h"
#include "measure/memory.h"
#include "worker/case/composition.h"
#include "worker/case/memory_floor.h"
#include "worker/case/observation.h"
#include "worker/case/pass_measurement.h"
#include "worker/case/startup.h"
#include "worker/case/verification.h"
#include "worker/process/guards.h"
#include "worker/process/state_watch.h"

namespace assay::worker {

namespace {

// Gives each rank its share of the cores, unless the environment sets the number: ranks would
// otherwise wait for each other's threads.
void share_cores(int ranks) {
  if (ranks == 1 || std::getenv("OMP_NUM_THREADS") != nullptr) return;
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  at::set_num_threads(std::max(1, CPU_COUNT(&cores) / ranks));
}

// Where an object's virtual functions are listed (Itanium C++ ABI, 2.4).
const void* functions_of(const ProgramBoundary& program) {
  return *reinterpret_cast<const void* const*>(&program);
}

class CaseRun {
 public:
  CaseRun(const SharedCode& shared, PluginLoader& loader, ProcessGroups& groups,
          const Placement& placement, const wire::CaseRequest& request, const CaseSink& sink)
      : shared_(shared),
        loader_(loader),
        groups_(groups),
        placement_(placement),
        request_(request),
        sink_(sink) {
    const std::string isolation = store::text_of(request.parameters, "measure.isolation");
    if (isolation == "case" || isolation == "pass") startup_.emplace();
  }

  Status run() {
    const Status built = guarded([&] { build(); });
    if (!built.ok()) {
      for (const std::string& pass : request_.passes) report_failure(pass, built);
      release();
      return built;
    }
    time_passes();
    run_unclocked();
    observe(false);
    // Ranks that went on wait for a failed one, so it reports at once.
    if (!unverified_.empty() && may_go_on()) verify_held();
    observe(true);
    release();
    return conclude();
  }

 private:
  void build() {
    device_ = device_of(request_.parameters, placement_);
    measure::use_device(*device_);
    if (device_->is_cpu()) {
      share_cores(placement_.local_world_size);
    }
    state_.emplace(StateWatch::Plan{.device = *device_,
                                    .files = request_.plugin_files,
                                    .made_by = plugins_in_words(request_.parameters),
                                    .tampered = [this] { return tampered(); }});
    if (device_->is_cpu()) cpu_memory_.emplace();
    freed_.emplace(*device_);
    sink_.progress("building");
    const std::string backend = store::text_of(request_.parameters, "backend");
    const Mesh mesh = groups_.mesh(backend.empty() ? "none" : backend, *device_);
    const Group world = mesh.world();
    Guards::watch(world.backend.get());
    stage_ended("rendezvous");
    // NCCL makes its communicator in the first collective, which takes a gibibyte of the host's
    // memory that is no case's.
    if (world.size > 1 && (startup_ || backend == "nccl")) barrier(world);
    if (world.size > 1) stage_ended("communicator");
    memory_floor_.emplace(*device_);
    composition_ = compose(loader_, request_, *device_, mesh);
    state_->expect_numeric_settings();
    recorder_.emplace(request_.begin_s, artefact_folder(),
                      RecordingLimits{.artefact_bytes = request_.artefact_limit_bytes});
    if (!verify_last_) {
      take_first_calls();
      verify_untimed();
    }
    caches_.emplace(request_.parameters, *device_);
    const std::int64_t before_bytes = measure::allocated_bytes(*device_);
    throw_unless_ok(composition_->workload->build(composition_->context, program_));
    bytes_.built = measure::allocated_bytes(*device_) - before_bytes;
    functions_ = functions_of(*program_);
    // The pristine contents, before anything that a plugin brought has run.
    for (const std::string& pass : request_.passes) {
      renewals_.try_emplace(pass, *program_, pass, secret_, integrity());
    }
  }

  // What judges the case or is judged, and no plugin may write to.
  std::string tampered() const {
    if (program_ && functions_of(*program_) != functions_) {
      return "the functions of the workload's program were replaced";
    }
    if (const std::string file = loader_.written_to(request_.plugin_files); !file.empty()) {
      return file + " was written to";
    }
    return shared_.code_tampered();
  }

  Integrity integrity() const {
    return store::text_of(request_.parameters, "measure.integrity") == "full" ? Integrity::full
                                                                              : Integrity::fast;
  }

  AnotherProgram build_another() {
    AnotherProgram another;
    another.composition = compose(loader_, request_, *device_, composition_->context.mesh);
    throw_unless_ok(
        another.composition->workload->build(another.composition->context, another.program));
    return another;
  }

  // Runs before any other call: verification would already warm up. Drops its program, since the
  // timed one must start as it was built.
  void take_first_calls() {
    // A communication variant serves one model.
    const auto communication = make_communication(loader_, request_.parameters);
    CaseContext context = composition_->context;
    context.communication = communication.get();
    std::unique_ptr<ProgramBoundary> program;
    const std::int64_t before_bytes = measure::allocated_bytes(*device_);
    throw_unless_ok(composition_->workload->build(context, program));
    stage_ended("building");
    for (const std::string& pass : request_.passes) {
      if (unclocked(pass)) continue;
      sink_.progress("first call of " + pass);
      const Status status = guarded([&] {
        first_calls_s_[pass] = take_first_call(*composition_, *program, pass, request_.parameters);
      });
      bytes_.called = std::max(bytes_.called, measure::allocated_bytes(*device_) - before_bytes);
      if (status.ok()) {
        report_startup(pass);
        continue;
      }
      throw_if_others_wait(status);
      failed_[pass] = status;
    }
    program.reset();
    measure::empty_cache(*device_);
  }

  void stage_ended(const char* stage) {
    if (startup_) startup_->ended(stage);
  }

  // Once, with the pass that was called first.
  void report_startup(const std::string& pass) {
    if (!startup_) return;
    startup_->ended("first call");
    for (store::Series& series : startup_->series(pass)) send(std::move(series));
    startup_.reset();
  }

  void time_passes() {
    for (const std::string& pass : request_.passes) {
      if (failed_.contains(pass) || unclocked(pass)) continue;
      sink_.progress(pass);
      const Status status = guarded([&] { time_pass(pass); });
      // Other passes have the same inputs; a pass that has failed leaves them as its last call's.
      if (!status.ok()) static_cast<void>(guarded([&] { renewals_.at(pass).restore(); }));
      measure::empty_cache(*device_);
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
      const Status status = verify(pass, Moment::before);
      if (status.ok()) continue;
      failed_.insert_or_assign(pass, status);
      report_verification(pass);
      throw_if_others_wait(status);
    }
    measure::empty_cache(*device_);
  }

  // The other ranks may have found nothing wrong and wait for this one in the next step.
  void throw_if_others_wait(const Status& status) const {
    if (placement_.world_size > 1 && status.outcome != Outcome::unsupported)
      throw_unless_ok(status);
  }

  // All ranks verify together, with a communication variant made for it. Verification after a
  // single pass leaves communication out: ranks may differ in whether they have the memory.
  Status verify(const std::string& pass, Moment moment) {
    CaseContext context = composition_->context;
    context.communication = nullptr;
    context.trace = nullptr;
    if (verification_seed_ == 0) {
      verification_seed_ = common_number(context.group, *device_, measure::secret());
    }
    context.seed = measure::mixed(verification_seed_ + (moment == Moment::before ? 0 : 1));
    std::unique_ptr<CommunicationBoundary> communication;
    if (moment == Moment::before || verify_last_) {
      const Status made =
          guarded([&] { communication = make_communication(loader_, request_.parameters); });
      if (!made.ok()) return made;
      context.communication = communication.get();
    }
    return verification_.verify(*composition_->workload, context, pass, moment);
  }

  void time_pass(const std::string& pass) {
    begin_recording(pass);
    PassReport report = measure_pass({.composition = *composition_,
                                      .program = *program_,
                                      .bytes = bytes_,
                                      .pass = pass,
                                      .parameters = request_.parameters,
                                      .caches = *caches_,
                                      .build_another = [this] { return build_another(); },
                                      .renewal = renewals_.at(pass),
                                      .integrity = integrity(),
                                      .secret = secret_,
                                      .tolerance = verification_.tolerance(*composition_, pass),
                                      .memory_floor = *memory_floor_,
                                      .freed = *freed_,
                                      .state = *state_,
                                      .await_turn = sink_.await_turn,
                                      .recorder = *recorder_,
                                      .first_call_s = first_call_s(pass)});
    sink_.facts.timing[pass] = std::move(report.timing);
    sink_.facts.verification[pass].repeated = report.output_facts;
    sink_.facts.verification[pass].timed = report.look_facts;
    throw_unless_ok(report.outputs);
    note_recording(pass, report.traced);
    record(pass, report.series);
    if (verify_last_ || !verified_again(pass)) {
      unverified_[pass] = std::move(report.series);
      return;
    }
    for (store::Series& series : report.series) send(std::move(series));
  }

  bool unclocked(const std::string& pass) const {
    return std::ranges::count(composition_->unclocked, pass) > 0;
  }

  // Other ranks wait for one that has failed, in its next step.
  bool may_go_on() const {
    return placement_.world_size == 1 || (failed_.empty() && recording_.ok());
  }

  void begin_recording(const std::string& pass) {
    recorder_->begin(
        pass, fmt::format("the workload '{}'", store::text_of(request_.parameters, "workload")),
        composition_->metrics);
  }

  // The pass's times stay whatever becomes of its recording.
  void note_recording(const std::string& pass, Status status) {
    if (status.ok() || !recording_.ok()) return;
    recording_ = std::move(status);
    recording_.reason = fmt::format("recording {}: {}", pass, recording_.reason);
  }

  void record(const std::string& pass, std::vector<store::Series>& series) {
    const FileSizeLimit limit(request_.artefact_limit_bytes);
    note_recording(pass, program_->record(pass, *recorder_));
    note_recording(pass, guarded([&] { recorder_->check_files(); }));
    for (store::Series& recorded : recorder_->take_series()) series.push_back(std::move(recorded));
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
    if (verify_last_) throw_unless_ok(verify(pass, Moment::before));
    begin_recording(pass);
    throw_unless_ok(program_->before(pass));
    throw_unless_ok(program_->run(pass));
    measure::synchronize(*device_);
    std::vector<store::Series> series;
    record(pass, series);
    add_counts(pass, *composition_, *program_, series);
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
      if (!made.ok()) note_recording("under " + name, made);
      if (!made.ok() || wants_fresh != fresh || !may_go_on()) continue;
      await_observation();
      if (fresh) release_program();
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
    recorder_->begin(pass, fmt::format("the observer '{}'", name), observer_metrics(loader_, name));
    store::Series took = {.pass = pass, .metric = "observed_time", .part = name, .unit = "s"};
    took.clock = observed_clock(store::text_of(request_.parameters, "measure.clock"));
    const FileSizeLimit limit(request_.artefact_limit_bytes);
    Status status = observe_pass(observer, {.pass = pass,
                                            .clock = took.clock,
                                            .steps = static_cast<int>(store::integer_of(
                                                request_.parameters, "measure.observed_steps", 3)),
                                            .composition = composition_.get(),
                                            .program = program_.get(),
                                            .build_another = [this] { return build_another(); },
                                            .context = composition_->context,
                                            .recorder = *recorder_,
                                            .took = [&](double s) { took.samples.push_back(s); }});
    if (status.ok()) status = guarded([&] { recorder_->check_files(); });
    for (store::Series& recorded : recorder_->take_series()) send(std::move(recorded));
    took.outcome = status.outcome;
    took.reason = status.reason;
    if (!status.ok()) took.samples.clear();
    send(std::move(took));
    if (status.outcome != Outcome::unsupported) note_recording(pass + " under " + name, status);
  }

  void release_program() {
    renewals_.clear();
    program_.reset();
    caches_.reset();
    measure::empty_cache(*device_);
  }

  std::string artefact_folder() const {
    if (request_.artefact_folder.empty()) return {};
    return fmt::format("{}/{}", request_.artefact_folder, placement_.rank);
  }

  std::optional<double> first_call_s(const std::string& pass) const {
    const auto found = first_calls_s_.find(pass);
    return found == first_calls_s_.end() ? std::nullopt : std::optional(found->second);
  }

  // Verifies again, since a variant may be right at first and wrong later. Returns false where the
  // program leaves too little memory: verify_held() then follows. Throws what makes the pass wrong.
  bool verified_again(const std::string& pass) {
    sink_.progress("verifying");
    measure::empty_cache(*device_);
    Status status = verify(pass, Moment::after);
    measure::empty_cache(*device_);
    if (status.outcome == Outcome::oom) return false;
    throw_unless_ok(std::move(status));
    return true;
  }

  // Verifies in the memory that the released program leaves. Unverified passes count as not
  // measured.
  void verify_held() {
    sink_.progress("verifying");
    const Status released = guarded([&] { release_program(); });
    for (auto& [pass, held] : unverified_) {
      Status status = released;
      if (status.ok()) status = verify(pass, Moment::after);
      report_verification(pass);
      if (!status.ok()) {
        failed_.try_emplace(pass, status);
        if (placement_.world_size > 1) break;
        continue;
      }
      for (store::Series& series : held) send(std::move(series));
      held.clear();
    }
    measure::empty_cache(*device_);
  }

  void report_verification(const std::string& pass) {
    if (const auto error = verification_.error(pass)) {
      send({.pass = pass, .metric = "error", .samples = {*error}});
    }
    verification_.tell(pass, sink_.facts.verification[pass]);
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
    if (recorder_) sink_.artefacts = recorder_->artefacts();
    return worst.ok() ? recording_ : worst;
  }

  void report_failure(const std::string& pass, const Status& status) {
    send({.pass = pass,
          .metric = "time",
          .unit = "s",
          .outcome = status.outcome,
          .reason = status.reason});
  }

  // Releases in reverse order of building, which returns the memory to the next case and to
  // interleaved ones.
  void release() {
    const Status released = guarded([&] {
      renewals_.clear();
      program_.reset();
      caches_.reset();
      composition_.reset();
      if (device_) measure::empty_cache(*device_);
      if (memory_floor_) look_for_a_leak();
      if (freed_) freed_->await_cleared();
      cpu_memory_.reset();
    });
    if (!state_) return;
    const Status compared = guarded([&] { sink_.facts.left_behind.merge(state_->left_behind()); });
    if (!released.ok()) say_unjudged(released);
    if (!compared.ok()) say_unjudged(compared);
  }

  // Whatever is left behind has its process replaced.
  void say_unjudged(const Status& why) {
    sink_.facts.left_behind["settings"] =
        fmt::format("the process of {} can no longer be judged: {}",
                    plugins_in_words(request_.parameters), why.reason);
  }

  void look_for_a_leak() {
    store::MemoryFacts& memory = sink_.facts.memory = memory_floor_->settle();
    if (memory.leak.empty()) return;
    sink_.facts.left_behind["leak"] = fmt::format("{} were not given back by {}", memory.leak,
                                                  plugins_in_words(request_.parameters));
  }

  const SharedCode& shared_;
  PluginLoader& loader_;
  ProcessGroups& groups_;
  const Placement& placement_;
  const wire::CaseRequest& request_;
  const CaseSink& sink_;
  std::optional<Startup> startup_;
  std::optional<at::Device> device_;
  std::optional<StateWatch> state_;
  std::optional<measure::CpuMemoryScope> cpu_memory_;
  std::optional<measure::FreedMemory> freed_;
  std::optional<MemoryFloor> memory_floor_;
  std::unique_ptr<Composition> composition_;
  std::optional<CaseCaches> caches_;
  std::unique_ptr<ProgramBoundary> program_;
  const void* functions_ = nullptr;  // the program's, as it was built
  const std::uint64_t secret_ = measure::secret();
  std::uint64_t verification_seed_ = 0;           // the ranks' common one
  std::map<std::string, InputRenewal> renewals_;  // of the program's inputs, by pass
  ProgramBytes bytes_;
  CaseVerification verification_;
  std::optional<CaseRecorder> recorder_;
  Status recording_;  // the first failure of recording or observing
  bool observing_ = false;
  // Verification warms up: it loads kernels and chooses algorithms. Where no warm-up call is
  // allowed, it follows the timing of all passes, and results are held back until then.
  const bool verify_last_ = std::get<std::int64_t>(request_.parameters.at("measure.warmup")) == 0;
  std::map<std::string, double> first_calls_s_;                   // by pass
  std::map<std::string, Status> failed_;                          // untimed passes, with the reason
  std::map<std::string, std::vector<store::Series>> unverified_;  // held-back results of each pass
};

}  // namespace

at::Device device_of(const store::Parameters& parameters, const Placement& placement) {
  const auto* name = std::get_if<std::string>(&parameters.at("device"));
  if (name == nullptr || *name != "cuda") return at::Device(at::kCPU);
  if (placement.local_rank >= measure::cuda_device_count()) {
    throw Unsupported(fmt::format("rank {} needs a CUDA device of its own; there are {}",
                                  placement.local_rank, measure::cuda_device_count()));
  }
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(placement.local_rank));
}

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
