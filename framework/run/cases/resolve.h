#pragma once

// run/cases decides what a planned case is on this machine: its values, its memory, whether it can
// run. It depends on config, wire and health. Start here.

#include <optional>
#include <string>

#include "catalogue/catalogue.h"
#include "config/experiment.h"
#include "run/cases/machine.h"
#include "wire/messages.h"

namespace assay::run {

// What cases are resolved against.
struct Surroundings {
  const catalogue::Catalogue& catalogue;
  const config::Experiment& experiment;
  const Machine& machine;
  bool cuda_build = false;  // the worker library was built with CUDA
};

// A case with nothing left open ("auto" replaced), ready to be sent.
struct ResolvedCase {
  wire::CaseRequest request;
  const catalogue::PluginInfo* external = nullptr;  // set when another process measures it
  double time_limit_s = 0;
  bool fresh_workers = false;          // `measure.isolation: case`, and `pass`
  bool pass_by_pass = false;           // `measure.isolation: pass`
  std::optional<std::string> skipped;  // why this machine cannot run it
};

ResolvedCase resolve(const Surroundings& surroundings, std::int64_t ordinal,
                     const store::Parameters& parameters);

// The ranks that run the case together.
int world_size_of(const ResolvedCase& resolved);

}  // namespace assay::run
