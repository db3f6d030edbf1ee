#pragma once

#include <assay/value.h>

#include <map>
#include <string>

namespace assay {

// A case as text: "name=value" without monostates, sorted by name and joined with ", ". Its SHA-256
// is the case's key on every build and machine.
std::string case_key_text(const std::map<std::string, Value>& parameters);

}  // namespace assay
