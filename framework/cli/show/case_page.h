#pragma once

#include <string>

#include "store/records/records.h"

namespace assay::cli {

// Everything known of one case, as text: outcome, parameters, series with statistics and marks,
// facts observed meanwhile, provenance with the experiment's text.
std::string case_page(const store::Run& run, const store::CaseResult& result);

}  // namespace assay::cli
