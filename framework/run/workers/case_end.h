#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/process/temporary_folder.h"
#include "store/records/records.h"

namespace assay::run {

// How a case ended for all of its ranks.
struct CaseEnd {
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::vector<store::Series> series;
  double worked_s = 0;       // the host's time of it
  bool reusable = false;     // the workers may take another case
  bool interrupted = false;  // stopped by the user: not a result
  store::CaseFacts facts;
  std::vector<store::Artefact> artefacts;  // `file` is a path below one of `left_in`
  std::vector<std::shared_ptr<TemporaryFolder>> left_in;

  // nullptr where it has no such series.
  const store::Series* find(const std::string& pass, const std::string& metric) const;
};

// Drops the failures of ranks that only missed the failed one.
void drop_echoes(CaseEnd& end, std::size_t rank);
// Drops the times of passes that not every one of so many ranks has reported.
void drop_incomplete_passes(CaseEnd& end, std::size_t ranks);

}  // namespace assay::run
