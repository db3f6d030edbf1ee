#pragma once

// run/cases settles a planned case on this machine: its values, its memory, whether it can run. It
// depends on config, wire and health. Start here.

#include <optional>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "config/experiment.h"
#include "run/cases/compiled_libraries.h"
#include "run/cases/machine.h"
#include "wire/messages.h"

namespace assay::run {

struct Surroundings {
  const catalogue::Catalogue& catalogue;
  const config::Experiment& experiment;
  const Machine& machine;
  bool cuda_build = false;  // the worker library was built with CUDA
  // What was built for the compiled options of the cases. Null while none is measured: cases then
  // name the plugins' own files.
  const CompiledLibraries* compiled = nullptr;
};

// A case ready to be sent: every "auto" is replaced.
struct ResolvedCase {
  wire::CaseRequest request;
  const catalogue::PluginInfo* external = nullptr;  // the variant that is a program, if any
  std::vector<std::string> unclocked;               // passes of the workload that have no time
  double time_limit_s = 0;
  bool fresh_workers = false;          // `measure.isolation: case` or `pass`
  bool pass_by_pass = false;           // `measure.isolation: pass`
  std::optional<std::string> skipped;  // why this machine cannot run it
  struct NotBuilt {
    Outcome outcome;
    std::string reason;
  };
  std::optional<NotBuilt> not_built;  // how the case ends, for want of a library
};

ResolvedCase resolve(const Surroundings& surroundings, std::int64_t ordinal,
                     const store::Parameters& parameters);

int world_size_of(const ResolvedCase& resolved);

}  // namespace assay::run
