#pragma once

#include <assay/outcome.h>

#include <string>

namespace assay::run {

// What a failed build means for a case.
struct BuildProblem {
  Outcome outcome = Outcome::error;  // unsupported: the source refuses, or the GPU has not enough
  std::string reason;                // one line
};

// Finds the reason in what compiler and linker printed: the first error. A kernel beyond what a GPU
// has names resource, need and limit; a failed static_assert is the author's own refusal.
BuildProblem problem_in(const std::string& messages);

}  // namespace assay::run
