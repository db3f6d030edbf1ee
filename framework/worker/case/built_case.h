#pragma once

#include <c10/core/Device.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "measure/content.h"
#include "measure/freed_memory.h"
#include "measure/memory.h"
#include "wire/messages.h"
#include "worker/case/startup.h"
#include "worker/compose/case_caches.h"
#include "worker/compose/composition.h"
#include "worker/looks/input_renewal.h"
#include "worker/pass/memory_floor.h"
#include "worker/pass/pass_measurement.h"
#include "worker/process/plugin_loader.h"
#include "worker/process/process_group.h"
#include "worker/process/state_watch.h"

namespace assay::worker {

// The device on which this rank measures the case. Throws Unsupported where there is none.
at::Device device_of(const store::Parameters& parameters, const Placement& placement);

// One case in this process: its device, its plugins, the timed program with its inputs, and what
// stays behind once they are gone. Made in two steps, compose() and build(): what comes between
// them has programs of its own. Both throw.
class BuiltCase {
 public:
  // All outlive it.
  BuiltCase(const SharedCode& shared, PluginLoader& loader, ProcessGroups& groups,
            const Placement& placement, const wire::CaseRequest& request);

  void compose();
  void build();

  // After compose().
  const at::Device& device() const { return *device_; }
  Composition& composition() { return *composition_; }
  const Composition& composition() const { return *composition_; }
  MemoryFloor& memory_floor() { return *memory_floor_; }
  measure::FreedMemory& freed() { return *freed_; }
  StateWatch& state() { return *state_; }
  // After build().
  ProgramBoundary& program() { return *program_; }
  CaseCaches& caches() { return *caches_; }
  InputRenewal& renewal_of(const std::string& pass) { return renewals_.at(pass); }

  // Only for a case that has its process to itself, until its first call has been reported.
  std::optional<Startup>& startup() { return startup_; }
  void stage_ended(const char* stage);

  Integrity integrity() const;
  std::uint64_t secret() const { return secret_; }
  ProgramBytes& bytes() { return bytes_; }

  // A program beside the timed one, with its own composition.
  AnotherProgram build_another();
  // One without the compile variant.
  AnotherProgram build_plain();

  void release_program();
  // In reverse order of building, which returns the memory to the next case and to interleaved
  // ones. Tells what the case has left behind. Throws nothing, however far building came.
  void release(store::CaseFacts& facts);

 private:
  AnotherProgram build(const wire::CaseRequest& request);
  std::string tampered() const;
  void look_for_a_leak(store::CaseFacts& facts);

  const SharedCode& shared_;
  PluginLoader& loader_;
  ProcessGroups& groups_;
  const Placement& placement_;
  const wire::CaseRequest& request_;
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
  std::map<std::string, InputRenewal> renewals_;  // of the program's inputs, by pass
  ProgramBytes bytes_;
};

}  // namespace assay::worker
