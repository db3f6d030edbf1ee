#pragma once

// store/renames gives records of earlier schemas the names that variants have now
// (base/renamed_variants.h). It depends on store/records and yaml. Start here.

#include <functional>
#include <map>
#include <string>

#include "store/records/records.h"

namespace assay::store {

// Records of this schema and later ones have today's names.
inline constexpr int schema_of_names = 5;

// A run's cases: the new key by the old one.
using NewKeys = std::map<std::string, std::string>;

// Parameters, key, key text, the cases it took turns with, and reasons that name a variant; whether
// that changed anything. A key that is not the key text's stays.
bool rename_variants(CaseResult& result);

// The experiment's text, overrides and, of a suite, chapters. `--case` and the chapters follow
// their keys. A chapter whose text changes loses the keys that `keys` lacks: those cases were never
// measured, and nothing tells what they are called now.
void rename_variants(Session& session, const NewKeys& keys);

// Of the cases for which `is_older` holds, and of the run's sessions where `sessions_are_older`.
void rename_variants(Run& run, bool sessions_are_older,
                     const std::function<bool(const CaseResult&)>& is_older);

}  // namespace assay::store
