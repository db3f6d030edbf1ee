#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/records/records.h"

// Names of the files that a case leaves. They come from plugins, imports and databases, and become
// paths below a run's folder.
namespace assay::store {

inline constexpr std::string_view artefact_folder = "artefacts";  // in a run's folder

// Letters, digits, '.', '-' and '_', at most 200 bytes, and neither "." nor "..".
bool is_artefact_name(std::string_view name);

// Whether Artefact::file stays below the folder it is relative to: names of artefacts between
// single slashes.
bool is_artefact_file(std::string_view file);

// Where the file of a case lies: "artefacts/0123456789ab/forward/0/trace.json", relative to the
// run's folder. Other characters of the pass become '_'; the name is one of an artefact.
std::string artefact_file(std::string_view case_key, const Artefact& artefact);

// The mark for a file that is not kept; why: "is no regular file".
Mark artefact_not_kept(const Artefact& artefact, const std::string& why);
// Why, where its case's files on a rank may have only so much more.
std::string over_artefact_limit(std::int64_t bytes, std::int64_t left_bytes);

}  // namespace assay::store
