#pragma once

#include <optional>
#include <string>

#include "trial.h"

namespace assay::faults {

// What is expected of a run of which one case was struck.
struct Struck {
  std::size_t place = 0;  // of the case, in a run of so many
  std::size_t cases = 0;
  std::string outcome;  // the word
  std::string reason;   // an extended one that the reason must hold; ^…$ where all of it is known
  std::string mark;     // "leak": a mark of the case; "" where none is asked about
  std::string mark_reason;  // a regular expression, as `reason`
  bool may_vary = false;    // the reason is not the same each time
};

// Of the newest run of the trial: the struck case's outcome, its whole reason and its mark with its
// reason are the same in the database, the progress line, the summary, the report (below a table
// and, of a failure, among the findings) and the exit code; all other cases are there, ok, in the
// database and on their progress lines; the database is sound. The case as it is stored; nothing
// where the run is not complete.
std::optional<store::CaseResult> expect_told_everywhere(const Trial& trial, const End& end,
                                                        const Struck& struck);

// The row: with the reason, or where there is none that of the mark.
void record_struck(const Trial& trial, const std::string& done, const store::CaseResult& result,
                   const Struck& struck);

}  // namespace assay::faults
