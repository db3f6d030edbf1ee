#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::cli {

struct RepeatedCase {
  // Begins with `env -u NAME NAME=value …` where variables that change measurements differ from the
  // case's session and their values are stored whole.
  std::vector<std::string> words;
  std::vector<std::string> notes;  // what will differ, a sentence each
};

// The command that measures this case again, with the cases of its interleaved group and with
// permission for its program where it had that. `results`: the folder, "" for the default;
// `present`: names of the variables that are set now.
RepeatedCase repeat_case(const store::Run& run, const store::CaseResult& result,
                         const std::string& results, const std::vector<std::string>& present);

}  // namespace assay::cli
