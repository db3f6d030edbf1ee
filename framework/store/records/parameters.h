#pragma once

#include <assay/value.h>

#include <cstdint>
#include <map>
#include <string>

namespace assay::store {

// Axis and parameter values of a case, flat: "seq_len", "attention", "attention.block_m",
// "measure.warmup", "world_size", "device", …
using Parameters = std::map<std::string, Value>;

// Monostate or "" for an unknown name.
Value value_of(const Parameters& parameters, const std::string& name);
std::string text_of(const Parameters& parameters, const std::string& name);
// `otherwise` for an unknown name and for another type; an integer is a number too.
std::int64_t integer_of(const Parameters& parameters, const std::string& name,
                        std::int64_t otherwise);
bool truth_of(const Parameters& parameters, const std::string& name, bool otherwise);
double number_of(const Parameters& parameters, const std::string& name, double otherwise);

}  // namespace assay::store
