#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "cli/context.h"

namespace assay::cli {

// What `assay bench` is to measure.
struct BenchRequest {
  std::string kind;
  std::vector<std::string> variants;
  std::string workload;  // "": the one of the kind's own name, else model_step
  // Names as a user writes them and values as YAML; `settings` count where `parameters` are silent.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::pair<std::string, std::string>> settings;
  int runs = 3;  // processes that each case is measured in
};

// The experiment as YAML: the variants take turns, in `runs` groups of fresh processes, until their
// medians are known to 1 %, or as the parameters say. `block_m` stands for an option of the kind,
// `samples` for measure.samples. Errors: an unknown kind, variant, workload or parameter, with the
// nearest spelling.
Result<std::string> bench_experiment(const catalogue::Catalogue& catalogue,
                                     const config::Environment& environment,
                                     const BenchRequest& request);

// The workload that measures the kind.
Result<std::string> bench_workload(const catalogue::Catalogue& catalogue,
                                   const BenchRequest& request);

}  // namespace assay::cli
