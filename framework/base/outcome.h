#pragma once

#include <assay/outcome.h>

#include <string>
#include <vector>

namespace assay {

// The name of every outcome, in the order of the enumeration.
const std::vector<std::string>& outcome_names();

}  // namespace assay
