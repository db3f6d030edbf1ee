#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace assay::run {

// A rank's place by its launch engine.
struct EnginePlace {
  std::string engine;  // "torchrun", "Open MPI", "PMI", "Slurm", or "RANK" where set by hand
  int rank = 0;
  int size = 1;
  int local_rank = 0;       // `rank` where the engine does not say
  std::string node;         // "" where the engine does not say
  std::string master_host;  // for the rendezvous; "": none is named
  int master_port = 0;      // 0: none is set aside
};

// Looks up an environment variable.
using Variables = std::function<std::optional<std::string>(const char* name)>;
Variables own_variables();

// Reads the variables of the innermost engine: a rank of mpirun within a Slurm allocation has those
// of both. ExitCode::bad_input where there are none, or one is missing or no number.
Result<EnginePlace> place_by_engine(const Variables& variables);

}  // namespace assay::run
