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

// On one line; bytes that are not UTF-8 become U+FFFD.
std::string dump(const nlohmann::json& json);
// The text with such bytes replaced.
std::string valid_utf8(std::string_view text);

// Refuses nesting deeper than 64. The diagnostic has a line and a column, but no file.
Result<nlohmann::json> parse_json(std::string_view text);

// Non-finite numbers are the texts "nan", "inf" and "-inf"; null also reads as NaN.
nlohmann::json number_to_json(double number);
std::optional<double> number_from_json(const nlohmann::json& json);

// nullopt outside int64.
std::optional<std::int64_t> integer_from_json(const nlohmann::json& json);

// Lossless: a whole real stays `4.0`, monostate is null, an infinite real is {"real": "inf"}.
nlohmann::json to_json(const Value& value);
Result<Value> value_from_json(const nlohmann::json& json);

// null, "" and "" without an object or such a member. text_at gives other types as JSON text.
const nlohmann::json& member_of(const nlohmann::json& object, const char* name);
std::string string_at(const nlohmann::json& object, const char* name);
std::string text_at(const nlohmann::json& object, const char* name);
// 0 without such a member, and where it is no whole number of that type.
template <class Integer = std::int64_t>
Integer integer_at(const nlohmann::json& object, const char* name) {
  const auto number = integer_from_json(member_of(object, name));
  return number && std::in_range<Integer>(*number) ? static_cast<Integer>(*number) : 0;
}
// The whole numbers of a list; none without such a member.
std::vector<int> integers_at(const nlohmann::json& object, const char* name);

// Reads fields of a JSON object and collects all mistakes in one Error. Other fields are ignored. A
// missing field leaves its target unchanged; it is a mistake only for Needs::every_field.
class FieldReader {
 public:
  enum class Needs { those_required, every_field };

  // `what`: the object's name in errors.
  FieldReader(const nlohmann::json& json, std::string what, Needs needs = Needs::those_required,
              ExitCode exit_code = ExitCode::bad_input);

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

  // `read` reads the field; its errors become this object's.
  template <class T>
  void object(const char* name, Result<T> (*read)(const nlohmann::json&), T& into) {
    if (const nlohmann::json* field = find(name)) take(read(*field), into);
  }
  template <class T>
  void list(const char* name, Result<T> (*read)(const nlohmann::json&), std::vector<T>& into) {
    const nlohmann::json* field = find(name);
    if (field == nullptr) return;
    if (!field->is_array()) return wrong(name, "a list");
    for (const nlohmann::json& item : *field) take(read(item), into.emplace_back());
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
