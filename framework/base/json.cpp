#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

using nlohmann::json;

constexpr int nesting_limit = 64;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct TooDeep {};

SourceLocation place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column =
      start == std::string_view::npos ? before.size() : before.size() - start - 1;
  return {{}, static_cast<int>(lines) + 1, static_cast<int>(column) + 1};
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  return json::parse(dump(json(text))).get<std::string>();
}

std::string dump(const json& json) {
  return json.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse_json(std::string_view text) {
  const auto watch_depth = [](int depth, json::parse_event_t, json&) {
    if (depth > nesting_limit) throw TooDeep{};  // the rest may be millions of levels
    return true;
  };
  try {
    return json::parse(text, watch_depth);
  } catch (const TooDeep&) {
    return fail(ExitCode::bad_input, fmt::format("nested deeper than {}", nesting_limit));
  } catch (const json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    return fail_at(place_of(text, offset), "this is not JSON",
                   offset >= text.size() ? "it ends too early" : "");
  } catch (const json::exception&) {
    return fail_at({{}, 1, 1}, "this is not JSON: a number is out of range");
  }
}

json number_to_json(double number) {
  if (std::isfinite(number)) return number;
  if (std::isnan(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}

std::optional<double> number_from_json(const json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_null() || json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return infinity;
  if (json == "-inf") return -infinity;
  return std::nullopt;
}

std::optional<std::int64_t> integer_from_json(const json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return std::nullopt;
  }
  return json.get<std::int64_t>();
}

json to_json(const Value& value) {
  struct Writer {
    json operator()(std::monostate) const { return nullptr; }
    json operator()(bool truth) const { return truth; }
    json operator()(std::int64_t number) const { return number; }
    json operator()(double number) const {
      return std::isfinite(number) ? json(number) : json{{"real", number_to_json(number)}};
    }
    json operator()(const std::string& text) const { return text; }
  };
  return std::visit(Writer{}, value);
}

Result<Value> value_from_json(const json& json) {
  if (json.is_null()) return Value{};
  if (json.is_boolean()) return Value{json.get<bool>()};
  if (json.is_string()) return Value{json.get<std::string>()};
  if (json.is_number_float()) return Value{json.get<double>()};
  if (const std::optional<std::int64_t> integer = integer_from_json(json)) return Value{*integer};
  if (json.is_object() && json.size() == 1 && json.contains("real")) {
    if (const std::optional<double> number = number_from_json(json["real"])) return Value{*number};
  }
  return fail(ExitCode::bad_input,
              "a value should be true, false, a number that fits 64 bits or a text");
}

const json& member_of(const json& object, const char* name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() ? *found : none;
}

std::string string_at(const json& object, const char* name) {
  const json& member = member_of(object, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

std::vector<int> integers_at(const json& object, const char* name) {
  std::vector<int> numbers;
  for (const json& item : member_of(object, name)) {
    const auto number = integer_from_json(item);
    if (number && std::in_range<int>(*number)) numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

std::string text_at(const json& object, const char* name) {
  const json& member = member_of(object, name);
  return member.is_string() || member.is_null() ? string_at(object, name) : member.dump();
}

FieldReader::FieldReader(const json& json, std::string what, Needs needs, ExitCode exit_code)
    : json_(json), what_(std::move(what)), needs_(needs), error_{exit_code, {}} {
  if (!json_.is_object()) add(fmt::format("{} is not a JSON object", what_));
}

const json* FieldReader::find(const char* name) {
  if (!json_.is_object()) return nullptr;
  const auto field = json_.find(name);
  if (field != json_.end()) return &*field;
  if (needs_ == Needs::every_field) add(fmt::format("{} has no field '{}'", what_, name));
  return nullptr;
}

void FieldReader::require(const char* name) {
  if (json_.is_object() && !has(name)) add(fmt::format("{} has no field '{}'", what_, name));
}

void FieldReader::text(const char* name, std::string& into) {
  const json* field = find(name);
  if (field == nullptr) return;
  if (!field->is_string()) return wrong(name, "a text");
  into = field->get<std::string>();
}

void FieldReader::texts(const char* name, std::vector<std::string>& into) {
  const json* field = find(name);
  if (field == nullptr) return;
  if (!field->is_array() || !std::all_of(field->begin(), field->end(),
                                         [](const json& text) { return text.is_string(); })) {
    return wrong(name, "a list of texts");
  }
  into = field->get<std::vector<std::string>>();
}

void FieldReader::truth(const char* name, bool& into) {
  const json* field = find(name);
  if (field == nullptr) return;
  if (!field->is_boolean()) return wrong(name, "true or false");
  into = field->get<bool>();
}

void FieldReader::number(const char* name, double& into) {
  const json* field = find(name);
  if (field == nullptr) return;
  const std::optional<double> read = number_from_json(*field);
  if (!read) return wrong(name, "a number");
  into = *read;
}

void FieldReader::value(const char* name, Value& into) { object(name, value_from_json, into); }

void FieldReader::outcome(const char* name, Outcome& into) {
  std::string word(to_text(into));
  text(name, word);
  if (const std::optional<Outcome> outcome = outcome_from_text(word)) {
    into = *outcome;
  } else {
    add(fmt::format("'{}' is not an outcome", word));
  }
}

void FieldReader::any(const char* name, json& into) {
  if (const json* field = find(name)) into = *field;
}

void FieldReader::wrong(const std::string& name, const std::string& expected) {
  add(fmt::format("{}: '{}' should be {}", what_, name, expected));
}

void FieldReader::add(std::string message) {
  error_.diagnostics.push_back(Diagnostic{{}, std::move(message), {}});
}

void FieldReader::add(const Error& error) {
  for (const Diagnostic& diagnostic : error.diagnostics) {
    add(fmt::format("{}: {}", what_, diagnostic.message));
  }
}

}  // namespace assay
