#pragma once

#include <string>
#include <vector>

#include "report/document/document.h"
#include "store/records/records.h"

namespace assay::report {

std::string title_of(const std::vector<const store::Run*>& sources);

// What every report begins with: the question, what each source was measured on and with, and the
// experiment as it was written, folded away. States only what the runs hold.
std::vector<Section> opening_sections(const std::vector<const store::Run*>& sources);

}  // namespace assay::report
