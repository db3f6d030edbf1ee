#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::cli {

// The cases that `text` names, at least one, in the run's order; they point into `run`:
//
//   3             the case with this number, from 1, as `assay show RUN` counts them
//   1f0c3a        the cases whose key begins so (6 digits or more)
//   3,1f0c3a      several of these
//   EXPRESSION    the cases for which it holds, such as 'seq_len <= 256 && attention == flash'; its
//                 names are the parameters and `outcome`
//
// Fails with ExitCode::bad_input where the text is wrong or names no case.
Result<std::vector<const store::CaseResult*>> choose_cases(const store::Run& run,
                                                           const std::string& text);

// Keeps the cases for which every filter, an expression as above, holds; none may remain.
Result<void> keep_cases(const std::vector<std::string>& filters, store::Run& run);

// The words that the filters compare with a name which has them in no case: see
// expression/unknown_names.h.
std::string unknown_names(const std::vector<std::string>& filters, const store::Run& run);

// The shortest beginning of a case's key that names it within the run, 12 digits or more.
std::string short_key(const store::Run& run, const store::CaseResult& result);

}  // namespace assay::cli
