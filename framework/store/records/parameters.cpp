#include "store/records/parameters.h"

namespace assay::store {
namespace {

const Value* find(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? nullptr : &found->second;
}

}  // namespace

Value value_of(const Parameters& parameters, const std::string& name) {
  const Value* value = find(parameters, name);
  return value == nullptr ? Value() : *value;
}

std::string text_of(const Parameters& parameters, const std::string& name) {
  const Value* value = find(parameters, name);
  return value == nullptr ? std::string() : to_text(*value);
}

std::int64_t integer_of(const Parameters& parameters, const std::string& name,
                        std::int64_t otherwise) {
  const Value* value = find(parameters, name);
  const auto* integer = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return integer == nullptr ? otherwise : *integer;
}

bool truth_of(const Parameters& parameters, const std::string& name, bool otherwise) {
  const Value* value = find(parameters, name);
  const auto* truth = value == nullptr ? nullptr : std::get_if<bool>(value);
  return truth == nullptr ? otherwise : *truth;
}

double number_of(const Parameters& parameters, const std::string& name, double otherwise) {
  const Value* value = find(parameters, name);
  if (value == nullptr) return otherwise;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(value);
  return real == nullptr ? otherwise : *real;
}

}  // namespace assay::store
