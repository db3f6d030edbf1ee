#include "worker/case/built_case.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "measure/device.h"
#include "worker/process/guards.h"

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

BuiltCase::BuiltCase(const SharedCode& shared, PluginLoader& loader, ProcessGroups& groups,
                     const Placement& placement, const wire::CaseRequest& request)
    : shared_(shared), loader_(loader), groups_(groups), placement_(placement), request_(request) {
  const std::string isolation = store::text_of(request.parameters, "measure.isolation");
  if (isolation == "case" || isolation == "pass") startup_.emplace();
}

void BuiltCase::compose() {
  device_ = device_of(request_.parameters, placement_);
  measure::use_device(*device_);
  if (device_->is_cpu()) share_cores(placement_.local_world_size);
  state_.emplace(StateWatch::Plan{.device = *device_,
                                  .files = request_.plugin_files,
                                  .made_by = plugins_in_words(request_.parameters),
                                  .tampered = [this] { return tampered(); }});
  if (device_->is_cpu()) cpu_memory_.emplace();
  freed_.emplace(*device_);
  const std::string backend = store::text_of(request_.parameters, "backend");
  const Mesh mesh = groups_.mesh(backend.empty() ? "none" : backend, *device_);
  const Group world = mesh.world();
  Guards::watch(world.backend.get());
  stage_ended("rendezvous");
  // NCCL makes its communicator in the first collective, which takes a gibibyte of the host's
  // memory that is no case's.
  if (world.size > 1 && (startup_ || backend == "nccl")) barrier(world);
  if (world.size > 1) stage_ended("communicator");
  // A case of one rank on a GPU may be the first to start NCCL itself.
  if (world.size > 1 || device_->is_cpu()) state_->expect_library_variables();
  memory_floor_.emplace(*device_);
  composition_ = worker::compose(loader_, request_, *device_, mesh);
  state_->expect_numeric_settings();
}

void BuiltCase::build() {
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
std::string BuiltCase::tampered() const {
  if (program_ && functions_of(*program_) != functions_) {
    return "the functions of the workload's program were replaced";
  }
  if (const std::string file = loader_.written_to(request_.plugin_files); !file.empty()) {
    return file + " was written to";
  }
  return shared_.code_tampered();
}

void BuiltCase::stage_ended(const char* stage) {
  if (startup_) startup_->ended(stage);
}

Integrity BuiltCase::integrity() const {
  return store::text_of(request_.parameters, "measure.integrity") == "full" ? Integrity::full
                                                                            : Integrity::fast;
}

AnotherProgram BuiltCase::build(const wire::CaseRequest& request) {
  AnotherProgram another;
  another.composition = worker::compose(loader_, request, *device_, composition_->context.mesh);
  throw_unless_ok(
      another.composition->workload->build(another.composition->context, another.program));
  return another;
}

AnotherProgram BuiltCase::build_another() { return build(request_); }

AnotherProgram BuiltCase::build_plain() {
  wire::CaseRequest plain = request_;
  plain.parameters.erase("compile");
  return build(plain);
}

void BuiltCase::release_program() {
  renewals_.clear();
  program_.reset();
  caches_.reset();
  measure::empty_cache(*device_);
}

void BuiltCase::release(store::CaseFacts& facts) {
  // Whatever is left behind has its process replaced.
  const auto say_unjudged = [&](const Status& why) {
    facts.left_behind["settings"] = fmt::format("the process of {} can no longer be judged: {}",
                                                plugins_in_words(request_.parameters), why.reason);
  };
  const Status released = guarded([&] {
    renewals_.clear();
    program_.reset();
    caches_.reset();
    composition_.reset();
    if (device_) measure::empty_cache(*device_);
    if (memory_floor_) look_for_a_leak(facts);
    if (freed_) freed_->await_cleared();
    cpu_memory_.reset();
  });
  if (!state_) return;
  const Status compared = guarded([&] { facts.left_behind.merge(state_->left_behind()); });
  if (!released.ok()) say_unjudged(released);
  if (!compared.ok()) say_unjudged(compared);
}

void BuiltCase::look_for_a_leak(store::CaseFacts& facts) {
  store::MemoryFacts& memory = facts.memory = memory_floor_->settle();
  if (memory.leak.empty()) return;
  facts.left_behind["leak"] = fmt::format("{} were not given back by {}", memory.leak,
                                          plugins_in_words(request_.parameters));
}

}  // namespace assay::worker
