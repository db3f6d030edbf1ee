#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::cli {

struct RepeatedCase {
  // Ahead of it `env -u NAME NAME=value …`, where its session had variables that change what is
  // measured and are stored whole, or had none of some that are set now.
  std::vector<std::string> words;
  // In what it is not the same, a sentence each.
  std::vector<std::string> notes;
};

// The command that measures exactly this case again: with those that it took turns with, and with
// leave for its program where it had leave. `results`: the folder to name, "" for the default;
// `present`: the names of the variables that are set now.
RepeatedCase repeat_case(const store::Run& run, const store::CaseResult& result,
                         const std::string& results, const std::vector<std::string>& present);

}  // namespace assay::cli
