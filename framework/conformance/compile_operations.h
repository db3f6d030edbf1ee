#pragma once

#include "conformance/check.h"

namespace assay::conformance {

// What a compile variant makes of single operations, called with inputs that a model's step need
// not have: select() on textbook operations, nothing pinned.
std::vector<Check> selected_operation_checks(const Subject& subject);

}  // namespace assay::conformance
