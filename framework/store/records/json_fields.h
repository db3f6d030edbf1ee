#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "store/statistics.h"

namespace assay::store {

// The texts stand for what JSON numbers cannot be.
inline nlohmann::json number_to_json(double number) {
  if (std::isfinite(number)) return number;
  if (std::isnan(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}

inline std::optional<double> number_from_json(const nlohmann::json& json) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) return json.get<double>();
  if (json.is_null() || json == "nan") return not_a_number;
  if (json == "inf") return infinity;
  if (json == "-inf") return -infinity;
  return std::nullopt;
}

// nullopt for what int64 does not hold.
inline std::optional<std::int64_t> integer_from_json(const nlohmann::json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return std::nullopt;
  }
  return json.get<std::int64_t>();
}

// Takes fields out of a JSON object and gathers everything that is wrong with them.
class FieldReader {
 public:
  FieldReader(const nlohmann::json& json, std::string what) : json_(json), what_(std::move(what)) {
    if (!json_.is_object()) add(fmt::format("{} is not a JSON object", what_));
  }

  // Null when there is none.
  const nlohmann::json* find(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto field = json_.find(name);
    return field == json_.end() ? nullptr : &*field;
  }

  void require(const char* name) {
    if (json_.is_object() && find(name) == nullptr) {
      add(fmt::format("{} has no field '{}'", what_, name));
    }
  }

  void text(const char* name, std::string& into) {
    const nlohmann::json* field = find(name);
    if (field == nullptr) return;
    if (!field->is_string()) return wrong(name, "a text");
    into = field->get<std::string>();
  }

  template <class Integer>
  void integer(const char* name, Integer& into) {
    const nlohmann::json* field = find(name);
    if (field == nullptr) return;
    const std::optional<std::int64_t> number = integer_from_json(*field);
    if (!number || !std::in_range<Integer>(*number)) return wrong(name, "a whole number");
    into = static_cast<Integer>(*number);
  }

  void number(const char* name, double& into) {
    const nlohmann::json* field = find(name);
    if (field == nullptr) return;
    const std::optional<double> read = number_from_json(*field);
    if (!read) return wrong(name, "a number");
    into = *read;
  }

  void any(const char* name, nlohmann::json& into) {
    if (const nlohmann::json* field = find(name)) into = *field;
  }

  // A field that a function of its own has read: its errors become this object's.
  template <class T>
  void take(Result<T> read, T& into) {
    if (read) {
      into = std::move(*read);
      return;
    }
    for (Diagnostic& diagnostic : read.error().diagnostics) {
      add(fmt::format("{}: {}", what_, diagnostic.message));
    }
  }

  void wrong(const std::string& name, const std::string& expected) {
    add(fmt::format("{}: '{}' should be {}", what_, name, expected));
  }

  void add(std::string message) {
    error_.diagnostics.push_back(Diagnostic{{}, std::move(message), {}});
  }

  template <class T>
  Result<T> finish(T value) {
    if (!error_.diagnostics.empty()) return tl::unexpected(std::move(error_));
    return value;
  }

 private:
  const nlohmann::json& json_;
  std::string what_;
  Error error_;
};

}  // namespace assay::store
