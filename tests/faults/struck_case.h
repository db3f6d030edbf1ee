#pragma once

#include <optional>
#include <string>

#include "trial.h"

namespace assay::faults {

// Expectations on a run in which one case was struck.
struct Struck {
  std::size_t place = 0;  // of the case among those of the run
  std::size_t cases = 0;
  std::string outcome;      // the word
  std::string reason;       // an extended regular expression; ^…$ where all of it is known
  std::string mark;         // of the case, "leak"; "" for none
  std::string mark_reason;  // a regular expression, as `reason`
  bool may_vary = false;    // the reason varies
};

// Checks the newest run of the trial: database, progress line, summary, report (below a table and,
// for a failure, among the findings) and exit code agree on the struck case's outcome, reason and
// mark; all other cases are ok in the database and on their progress lines; the database is sound.
// Returns the stored case; empty where the run is incomplete.
std::optional<store::CaseResult> expect_told_everywhere(const Trial& trial, const End& end,
                                                        const Struck& struck);

// Writes the row with the reason of the case, else of its mark.
void record_struck(const Trial& trial, const std::string& done, const store::CaseResult& result,
                   const Struck& struck);

}  // namespace assay::faults
