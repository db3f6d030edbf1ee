#pragma once

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "store/records/records.h"

namespace assay::store {

// The lossless JSON form of the records, on top of base/json.h. Reading ignores unknown fields,
// takes the defaults of records.h for missing ones, and names every wrong field in one Error
// (ExitCode::bad_input).

using assay::to_json;  // of a Value
nlohmann::json to_json(const Parameters& parameters);
nlohmann::json to_json(const Series& series);
nlohmann::json to_json(const Artefact& artefact);
nlohmann::json to_json(const CaseResult& result);
nlohmann::json to_json(const Session& session);
nlohmann::json to_json(const RunInfo& info);

Result<Parameters> parameters_from_json(const nlohmann::json& json);
// Needs `pass` and `metric`.
Result<Series> series_from_json(const nlohmann::json& json);
// Needs `name`, `file` and `sha256`.
Result<Artefact> artefact_from_json(const nlohmann::json& json);
// Needs `parameters`.
Result<CaseResult> case_result_from_json(const nlohmann::json& json);
Result<Session> session_from_json(const nlohmann::json& json);
// Needs `name` and `experiment`.
Result<RunInfo> run_info_from_json(const nlohmann::json& json);

}  // namespace assay::store
