#pragma once

#include <assay/outcome.h>
#include <assay/value.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace assay {

// On one line; what is not UTF-8 in a text becomes U+FFFD instead of failing.
std::string dump(const nlohmann::json& json);

// JSON text. The place of the Error's diagnostic holds line and column, but no file; nesting deeper
// than 64 is refused.
Result<nlohmann::json> parse_json(std::string_view text);

// JSON has no non-finite numbers: they are the texts "nan", "inf" and "-inf". Reading takes null
// for NaN as well.
nlohmann::json number_to_json(double number);
std::optional<double> number_from_json(const nlohmann::json& json);

// nullopt for what int64 does not hold.
std::optional<std::int64_t> integer_from_json(const nlohmann::json& json);

// Lossless: a whole real number stays a real (`4.0`). null for monostate. A non-finite real is
// {"real": "inf"}, since a text may say "inf" too.
nlohmann::json to_json(const Value& value);
Result<Value> value_from_json(const nlohmann::json& json);

// null where it is no object or has no such member.
const nlohmann::json& member_of(const nlohmann::json& object, const char* name);
// "" where it is no object or has no such text.
std::string string_at(const nlohmann::json& object, const char* name);
// The same, and what is neither text nor null as JSON writes it.
std::string text_at(const nlohmann::json& object, const char* name);

// Takes fields out of a JSON object and gathers everything that is wrong with them in one Error.
// Fields it is not asked for are ignored; what a field is read into keeps its value where the
// object has no such field, which is wrong only where every field is needed.
class FieldReader {
 public:
  enum class Needs { those_required, every_field };

  // `what`: the object, for errors.
  FieldReader(const nlohmann::json& json, std::string what, Needs needs = Needs::those_required,
              ExitCode exit_code = ExitCode::bad_input);

  // Null when there is none.
  const nlohmann::json* find(const char* name);
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }
  void require(const char* name);

  void text(const char* name, std::string& into);
  void texts(const char* name, std::vector<std::string>& into);
  void truth(const char* name, bool& into);
  void number(const char* name, double& into);
  void value(const char* name, Value& into);
  void outcome(const char* name, Outcome& into);
  void any(const char* name, nlohmann::json& into);

  template <class Integer>
  void integer(const char* name, Integer& into) {
    const nlohmann::json* field = find(name);
    if (field == nullptr) return;
    const std::optional<std::int64_t> number = integer_from_json(*field);
    if (!number || !std::in_range<Integer>(*number)) return wrong(name, "a whole number");
    into = static_cast<Integer>(*number);
  }

  // A field that a function of its own reads: its errors become this object's.
  template <class T>
  void object(const char* name, Result<T> (*read)(const nlohmann::json&), T& into) {
    if (const nlohmann::json* field = find(name)) take(read(*field), into);
  }
  template <class T>
  void list(const char* name, Result<T> (*read)(const nlohmann::json&), std::vector<T>& into) {
    const nlohmann::json* field = find(name);
    if (field == nullptr) return;
    if (!field->is_array()) return wrong(name, "a list");
    for (const nlohmann::json& one : *field) take(read(one), into.emplace_back());
  }
  template <class T>
  void take(Result<T> read, T& into) {
    if (read) {
      into = std::move(*read);
    } else {
      add(read.error());
    }
  }

  void wrong(const std::string& name, const std::string& expected);
  void add(std::string message);

  template <class T>
  Result<T> finish(T value) {
    if (!error_.diagnostics.empty()) return tl::unexpected(std::move(error_));
    return value;
  }

 private:
  void add(const Error& error);

  const nlohmann::json& json_;
  std::string what_;
  Needs needs_;
  Error error_;
};

}  // namespace assay
