#pragma once

#include <assay/value.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::store {

// The JSON form of what the store holds. It is lossless: a whole real number stays a real
// (`4.0`), and since JSON has no non-finite numbers they are the texts "nan", "inf" and "-inf"
// where a number is meant; reading takes null for NaN as well. The exchange format of results
// (store/exchange/export.h) writes null instead.
//
// Reading ignores fields it does not know, takes the defaults of records.h for those left out, and
// names every field that is wrong in one Error (ExitCode::bad_input).

// null for monostate. A non-finite real is {"real": "inf"}, since a text may say "inf" too.
nlohmann::json to_json(const Value& value);
nlohmann::json to_json(const Parameters& parameters);
nlohmann::json to_json(const Series& series);
nlohmann::json to_json(const CaseResult& result);
nlohmann::json to_json(const Session& session);
nlohmann::json to_json(const RunInfo& info);

Result<Value> value_from_json(const nlohmann::json& json);
// An object of values.
Result<Parameters> parameters_from_json(const nlohmann::json& json);
// Needs `pass` and `metric`.
Result<Series> series_from_json(const nlohmann::json& json);
// Needs `parameters`.
Result<CaseResult> case_result_from_json(const nlohmann::json& json);
Result<Session> session_from_json(const nlohmann::json& json);
// Needs `name` and `experiment`.
Result<RunInfo> run_info_from_json(const nlohmann::json& json);

// null where it is no object or has no such member.
const nlohmann::json& member_of(const nlohmann::json& object, const char* name);

// On one line; what is not UTF-8 in a text becomes U+FFFD instead of failing.
std::string dump(const nlohmann::json& json);

// JSON text. The place of the Error's diagnostic holds line and column, but no file; nesting deeper
// than 64 is refused.
Result<nlohmann::json> parse_json(std::string_view text);

}  // namespace assay::store
