#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay::test {

// The output of `assay export` for a run of a folder's results: an object a series.
std::vector<nlohmann::json> exported(const std::filesystem::path& folder,
                                     const std::string& run = "latest");

// The time series of the case with this attention; null where there is none.
nlohmann::json time_of(const std::vector<nlohmann::json>& lines, const std::string& attention);

}  // namespace assay::test
