#pragma once

#include <assay/value.h>

#include <map>
#include <string>

namespace assay {

// A case in words: "name=value" sorted by name and joined with ", "; what does not apply
// (monostate) is left out. Its SHA-256 is the case's key, the same over builds and machines.
std::string case_key_text(const std::map<std::string, Value>& parameters);

}  // namespace assay
