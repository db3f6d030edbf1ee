#pragma once

#include <string>
#include <vector>

#include "store/records.h"

namespace assay::cli {

// Everything known of one case of a run, for a person: outcome, parameters, series with their
// statistics and flags, what was seen meanwhile, provenance.
std::string case_page(const store::Run& run, const store::CaseResult& result);

// The words of a command that measures exactly this case again, `env NAME=value …` ahead of it
// where its session had such variables: those that change what is measured and are stored whole.
// `results`: the folder to name, "" for the default.
std::vector<std::string> repeat_words(const store::Run& run, const store::CaseResult& result,
                                      const std::string& results);

}  // namespace assay::cli
