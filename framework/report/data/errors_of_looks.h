#pragma once

#include <string_view>
#include <vector>

#include "store/records/records.h"

namespace assay::report {

inline constexpr std::string_view timed_error_metric = "timed_error";
inline constexpr std::string_view error_ratio_metric = "error_ratio";

// What looks at timed calls have found (TimedLooksFacts), as series of the case: for each pass that
// was looked at the error of the output nearest to its tolerance, and that error over the one of
// textbook operations in the same dtype, where it is known.
std::vector<store::Series> errors_of_looks(const store::CaseResult& result);

}  // namespace assay::report
