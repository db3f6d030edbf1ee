#pragma once

// run/cases settles a planned case on this machine: its values, its memory, whether it can run. It
// depends on config, wire and health. Start here.

#include <optional>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "config/experiment.h"
#include "run/cases/machine.h"
#include "wire/messages.h"

namespace assay::run {

struct Surroundings {
  const catalogue::Catalogue& catalogue;
  const config::Experiment& experiment;
  const Machine& machine;
  bool cuda_build = false;  // the worker library was built with CUDA
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
};

ResolvedCase resolve(const Surroundings& surroundings, std::int64_t ordinal,
                     const store::Parameters& parameters);

int world_size_of(const ResolvedCase& resolved);

}  // namespace assay::run
