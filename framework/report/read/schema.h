#pragma once

#include <nlohmann/json.hpp>

namespace assay::report {

// JSON Schema (draft 7) of a report or a layout, for editors. Its `definitions` refer to each other
// from the root of the enclosing document ("#/definitions/table"). Only check() checks names.
nlohmann::json report_schema();

}  // namespace assay::report
