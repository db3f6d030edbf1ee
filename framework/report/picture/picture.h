#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "report/document/document.h"
#include "report/spec/spec.h"

namespace assay::report {

// The title as written, or else the values that this one of several pictures is of.
std::string picture_title(const Template& title, const Filter& combination);

// Draws NAME.svg in the folder, with its data beside it as NAME.csv. Where that cannot be done the
// section says why.
Section picture(const std::filesystem::path& folder, const std::string& name,
                const std::string& alternative, const std::string& csv,
                const std::function<std::string(const std::filesystem::path& svg)>& script);

}  // namespace assay::report
