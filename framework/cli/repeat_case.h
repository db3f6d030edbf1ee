#pragma once

#include <string>
#include <vector>

#include "store/records.h"

namespace assay::cli {

struct RepeatedCase {
  // `env NAME=value …` ahead of it where its session had such variables: those that change what is
  // measured and are stored whole.
  std::vector<std::string> words;
  // In what it is not the same, a sentence each.
  std::vector<std::string> notes;
};

// The command that measures exactly this case again: with those that it took turns with, and with
// leave for its program where it had leave. `results`: the folder to name, "" for the default.
RepeatedCase repeat_case(const store::Run& run, const store::CaseResult& result,
                         const std::string& results);

}  // namespace assay::cli
