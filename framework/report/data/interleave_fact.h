#pragma once

#include <string>

#include "store/records/records.h"

namespace assay::report {

// How many cases were measured in turns with others, in which blocks, and why the rest of those
// that were to be was not; "" where none was to be.
std::string turns_of(const store::Run& run);

}  // namespace assay::report
