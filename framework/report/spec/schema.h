#pragma once

#include <nlohmann/json.hpp>

namespace assay::report {

// JSON Schema (draft 7) of a report or a layout, for editors: which blocks there are and the keys
// of each. Its `definitions` refer to each other from the root of the document they stand in
// ("#/definitions/table"). What the names of a report mean, `check` knows.
nlohmann::json report_schema();

}  // namespace assay::report
