#pragma once

#include <string>
#include <vector>

#include "report/document/document.h"
#include "store/records/records.h"

namespace assay::report {

std::string title_of(const std::vector<const store::Run*>& sources);

// The question, each source's environment, and the folded experiment text.
std::vector<Section> opening_sections(const std::vector<const store::Run*>& sources);

}  // namespace assay::report
