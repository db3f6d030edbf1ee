#pragma once

#include <string>

#include "store/records/records.h"

namespace assay::cli {

// Everything known of one case of a run, for a person: outcome, parameters, series with their
// statistics and marks, what was seen meanwhile, provenance with the experiment's text.
std::string case_page(const store::Run& run, const store::CaseResult& result);

}  // namespace assay::cli
