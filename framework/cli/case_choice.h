#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::cli {

// The cases of a run that a text names, in the run's order, at least one:
//
//   3             the case with this number, as `assay show RUN` counts them, from 1
//   1f0c3a        those whose key begins so (6 digits or more)
//   3,1f0c3a      several of these, separated by commas
//   EXPRESSION    those for which it holds, such as 'seq_len <= 256 && attention == flash'; beside
//                 the parameters there is `outcome`
//
// Points into `run`. Errors (ExitCode::bad_input) say what is wrong with the text, or that no case
// is meant.
Result<std::vector<const store::CaseResult*>> choose_cases(const store::Run& run,
                                                           const std::string& text);

// Drops the cases for which a filter, an expression as above, does not hold; that may be all.
Result<void> keep_cases(const std::vector<std::string>& filters, store::Run& run);

// What the filters compare a name with that it is in no case of the run:
// expression/unknown_names.h.
std::string unknown_names(const std::vector<std::string>& filters, const store::Run& run);

// What is enough of a case's key to name it within the run, 12 digits or more.
std::string short_key(const store::Run& run, const store::CaseResult& result);

}  // namespace assay::cli
