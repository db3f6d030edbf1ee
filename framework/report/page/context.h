#pragma once

#include <string>
#include <vector>

#include "report/document/document.h"
#include "store/records/records.h"

namespace assay::report {

std::string title_of(const std::vector<const store::Run*>& sources);

std::vector<Section> questions_of(const std::vector<const store::Run*>& sources);
// Each source's environment, and the folded experiment text.
std::vector<Section> environment_sections(const std::vector<const store::Run*>& sources);

// The experiment's text, folded; `what` it is, such as "Experiment".
Details experiment_details(const std::string& what, const store::Session& session);

// The parts of a run's environment: what it is and ran on, and how its cases were measured.
List surroundings_of(const store::Run& run);
List measuring_facts_of(const store::Run& run);

}  // namespace assay::report
