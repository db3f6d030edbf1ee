#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/data/records.h"
#include "report/document/document.h"

namespace assay::report {

// The marks that the sections show by a sign.
std::set<std::string> shown_marks(const std::vector<Section>& sections);

// The section "Data quality": a line for each cause of these marks, with how many results have it,
// which, and why. Empty without marks.
std::vector<Section> quality_sections(const Records& records, const std::set<std::string>& marks);

}  // namespace assay::report
