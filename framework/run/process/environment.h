#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay::run {

struct MeasuringEnvironment {
  nlohmann::json variables = nlohmann::json::object();  // name to value
  std::vector<std::string> shortened;                   // names whose values lack their folders
};

// The variables of the machine and those that may change a measurement (environment.cpp lists
// both), from "NAME=value" texts as `environ` has them, ended by a null. Results are handed on, so
// they keep nothing private: paths lose their folders, and names that speak of keys, tokens,
// secrets or passwords are left out.
MeasuringEnvironment measuring_environment(const char* const* variables);

// The sorted names of "NAME=value" texts, as `environ` has them.
std::vector<std::string> variable_names(const char* const* variables);

// Whether a repetition must set the recorded variable as it was. The other recorded variables
// describe a machine and its image.
bool changes_measurements(std::string_view name);

}  // namespace assay::run
