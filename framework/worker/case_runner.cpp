#include "worker/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "measure/clock.h"
#include "measure/device.h"
#include "measure/memory.h"
#include "worker/composition.h"
#include "worker/verdict.h"

namespace assay::worker {

namespace {

int integer_setting(const store::Parameters& parameters, const char* name) {
  return static_cast<int>(std::get<std::int64_t>(parameters.at(name)));
}

class CaseRun {
 public:
  CaseRun(PluginLoader& loader, ProcessGroups& groups, const Placement& placement,
          const wire::CaseRequest& request, const CaseSink& sink)
      : loader_(loader), groups_(groups), placement_(placement), request_(request), sink_(sink) {}

  Status run() {
    const Status built = guarded([&] { build(); });
    if (!built.ok()) {
      for (const std::string& pass : request_.passes) report_failure(pass, built);
      release();
      return built;
    }
    time_passes();
    // Ranks that went on wait for one that failed: it must say so at once.
    if (verify_last_ && (placement_.world_size == 1 || failed_.empty())) verify_timed();
    release();
    return conclude();
  }

 private:
  void build() {
    device_ = device_of(request_.parameters, placement_);
    measure::use_device(*device_);
    if (device_->is_cpu()) cpu_memory_.emplace();
    sink_.progress("building");
    const auto backend = request_.parameters.find("backend");
    const Group group = groups_.get(
        backend == request_.parameters.end() ? "none" : to_text(backend->second), *device_);
    composition_ = compose(loader_, request_, *device_, group);
    if (!verify_last_) verify();
    throw_unless_ok(composition_->workload->build(composition_->context, program_));
  }

  void time_passes() {
    for (const std::string& pass : request_.passes) {
      if (failed_.contains(pass)) continue;
      sink_.progress(pass);
      const Status status = guarded([&] { measure_pass(pass); });
      measure::empty_cache(*device_);
      if (status.ok()) continue;
      failed_[pass] = status;
      if (placement_.world_size > 1) break;
    }
  }

  // On the memory the program leaves free. What cannot be verified counts as not measured.
  void verify_timed() {
    const Status status = guarded([&] {
      program_.reset();
      measure::empty_cache(*device_);
      verify();
    });
    if (status.ok()) return;
    for (const std::string& pass : request_.passes) failed_.try_emplace(pass, status);
  }

  // A pass that fails here is not timed, or its times are not reported.
  void verify() {
    sink_.progress("verifying");
    for (const std::string& pass : request_.passes) {
      if (failed_.contains(pass)) continue;
      Verification verification;
      const Status status =
          composition_->workload->verify(composition_->context, pass, verification);
      if (!status.ok()) failed_.try_emplace(pass, status);
      if (!status.ok() || !verification.checked) continue;
      send({.pass = pass, .metric = "error", .samples = {verification.error}});
      if (const Status found = verdict(verification); !found.ok()) failed_.try_emplace(pass, found);
    }
    measure::empty_cache(*device_);
  }

  void measure_pass(const std::string& pass) {
    GuardedStep step;
    // Replays of a captured step allocate nothing: what it needs shows while it is captured.
    const measure::MemoryUse preparing =
        measure::observe_memory(*device_, [&] { throw_unless_ok(prepare(pass, step)); });
    const measure::Call call = {[&] { throw_unless_ok(step.before()); },
                                [&] { throw_unless_ok(step.run()); }};
    const auto clock = measure::make_clock(
        std::get<std::string>(request_.parameters.at("measure.clock")), *device_);
    const measure::TimingSettings settings = {
        integer_setting(request_.parameters, "measure.warmup"),
        integer_setting(request_.parameters, "measure.samples"),
        integer_setting(request_.parameters, "measure.calls_per_sample")};
    const measure::Timing timing = measure::time_call(
        *clock, call, *device_, settings, [&] { barrier(composition_->context.group); });
    report({.pass = pass,
            .metric = "time",
            .unit = "s",
            .clock = clock->name(),
            .samples = timing.samples_s});
    report({.pass = pass,
            .metric = "first_call_time",
            .unit = "s",
            .clock = "wall",
            .samples = {timing.first_call_s}});
    report_memory(pass, call, preparing.peak_bytes);
    report_counts(pass);
  }

  Status prepare(const std::string& pass, GuardedStep& step) {
    if (composition_->compile) {
      return composition_->compile->prepare(*program_, pass, composition_->context, step);
    }
    step.before = [this, pass] { return program_->before(pass); };
    step.run = [this, pass] { return program_->run(pass); };
    return {};
  }

  void report_memory(const std::string& pass, const measure::Call& call,
                     std::int64_t preparing_peak_bytes) {
    call.before();
    const measure::MemoryUse use = measure::observe_memory(*device_, call.run);
    report({.pass = pass,
            .metric = "memory_before",
            .unit = "byte",
            .samples = {static_cast<double>(use.before_bytes)}});
    report({.pass = pass,
            .metric = "peak_memory",
            .unit = "byte",
            .samples = {static_cast<double>(std::max(use.peak_bytes, preparing_peak_bytes))}});
  }

  void report_counts(const std::string& pass) {
    std::vector<Count> counts;
    throw_unless_ok(program_->counts(pass, counts));
    for (const Count& count : counts) {
      report({.pass = pass,
              .metric = count.metric,
              .part = count.part,
              .unit = composition_->unit_of(count.metric),
              .samples = {count.value}});
    }
  }

  void report(store::Series series) {
    if (verify_last_) {
      unverified_.push_back(std::move(series));
    } else {
      send(std::move(series));
    }
  }

  void send(store::Series series) {
    series.rank = placement_.rank;
    sink_.measured(std::move(series));
  }

  Status conclude() {
    for (store::Series& series : unverified_) {
      if (!failed_.contains(series.pass)) send(std::move(series));
    }
    Status worst;
    for (const std::string& pass : request_.passes) {
      const auto failed = failed_.find(pass);
      if (failed == failed_.end()) continue;
      report_failure(pass, failed->second);
      if (worst.ok() || worst.outcome == Outcome::unsupported) worst = failed->second;
    }
    return worst;
  }

  void report_failure(const std::string& pass, const Status& status) {
    send({.pass = pass,
          .metric = "time",
          .unit = "s",
          .outcome = status.outcome,
          .reason = status.reason});
  }

  // In reverse order of building; the next case finds the memory it left.
  void release() {
    static_cast<void>(guarded([&] {
      program_.reset();
      composition_.reset();
      if (device_) measure::empty_cache(*device_);
    }));
  }

  PluginLoader& loader_;
  ProcessGroups& groups_;
  const Placement& placement_;
  const wire::CaseRequest& request_;
  const CaseSink& sink_;
  std::optional<at::Device> device_;
  std::optional<measure::CpuMemoryScope> cpu_memory_;
  std::unique_ptr<Composition> composition_;
  std::unique_ptr<ProgramBoundary> program_;
  // Verifying warms up: it loads kernels and chooses algorithms. Where no call may be a warm-up
  // call it follows the timing, and what was timed is reported only then.
  const bool verify_last_ = integer_setting(request_.parameters, "measure.warmup") == 0;
  std::map<std::string, Status> failed_;  // passes that have no time, and why
  std::vector<store::Series> unverified_;
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

Status run_case(PluginLoader& loader, ProcessGroups& groups, const Placement& placement,
                const wire::CaseRequest& request, const CaseSink& sink) {
  Status status;
  const Status outer = guarded([&] {
    CaseRun run(loader, groups, placement, request, sink);
    status = run.run();
  });
  return outer.ok() ? status : outer;
}

}  // namespace assay::worker
