#include "store/records/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "store/records/json_fields.h"

namespace assay::store {
namespace {

using nlohmann::json;

constexpr int nesting_limit = 64;

// Thrown within parse_json.
struct TooDeep {};

void read_outcome(FieldReader& fields, Outcome& into) {
  std::string text(to_text(into));
  fields.text("outcome", text);
  if (const std::optional<Outcome> outcome = outcome_from_text(text)) {
    into = *outcome;
  } else {
    fields.add(fmt::format("'{}' is not an outcome", text));
  }
}

void read_samples(FieldReader& fields, std::vector<double>& into) {
  const json* samples = fields.find("samples");
  if (samples == nullptr) return;
  if (!samples->is_array()) return fields.wrong("samples", "a list of numbers");
  into.reserve(samples->size());
  for (std::size_t i = 0; i < samples->size(); ++i) {
    const std::optional<double> number = number_from_json((*samples)[i]);
    if (!number) return fields.wrong(fmt::format("samples[{}]", i), "a number");
    into.push_back(*number);
  }
}

void read_statistics(FieldReader& fields, std::map<std::string, double>& into) {
  const json* statistics = fields.find("statistics");
  if (statistics == nullptr) return;
  if (!statistics->is_object()) return fields.wrong("statistics", "an object of numbers");
  for (const auto& [name, figure] : statistics->items()) {
    const std::optional<double> number = number_from_json(figure);
    if (!number) return fields.wrong("statistics." + name, "a number");
    into[name] = *number;
  }
}

void read_texts(FieldReader& fields, const char* name, std::vector<std::string>& into) {
  const json* texts = fields.find(name);
  if (texts == nullptr) return;
  if (!texts->is_array() || !std::all_of(texts->begin(), texts->end(),
                                         [](const json& text) { return text.is_string(); })) {
    return fields.wrong(name, "a list of texts");
  }
  into = texts->get<std::vector<std::string>>();
}

void read_session(FieldReader& fields, Session& into) {
  fields.text("experiment_text", into.experiment_text);
  fields.text("experiment_file", into.experiment_file);
  read_texts(fields, "overrides", into.overrides);
  fields.any("machine", into.machine);
  fields.any("provenance", into.provenance);
}

void read_sessions(FieldReader& fields, std::vector<Session>& into) {
  const json* sessions = fields.find("sessions");
  if (sessions == nullptr) return;
  if (!sessions->is_array()) return fields.wrong("sessions", "a list");
  for (const json& one : *sessions) {
    Session session;
    fields.take(session_from_json(one), session);
    into.push_back(std::move(session));
  }
}

SourceLocation place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column =
      start == std::string_view::npos ? before.size() : before.size() - start - 1;
  return {{}, static_cast<int>(lines) + 1, static_cast<int>(column) + 1};
}

}  // namespace

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

json to_json(const Parameters& parameters) {
  json object = json::object();
  for (const auto& [name, value] : parameters) object[name] = to_json(value);
  return object;
}

json to_json(const Series& series) {
  json samples = json::array();
  for (const double sample : series.samples) samples.push_back(number_to_json(sample));
  json statistics = json::object();
  for (const auto& [name, figure] : series.statistics) statistics[name] = number_to_json(figure);
  return {{"pass", series.pass},           {"metric", series.metric},
          {"part", series.part},           {"rank", series.rank},
          {"unit", series.unit},           {"outcome", to_text(series.outcome)},
          {"reason", series.reason},       {"clock", series.clock},
          {"samples", std::move(samples)}, {"statistics", std::move(statistics)}};
}

json to_json(const CaseResult& result) {
  json series = json::array();
  for (const Series& one : result.series) series.push_back(to_json(one));
  return {{"ordinal", result.ordinal},
          {"key", result.key},
          {"key_text", result.key_text},
          {"parameters", to_json(result.parameters)},
          {"build", result.build},
          {"session", result.session},
          {"outcome", to_text(result.outcome)},
          {"reason", result.reason},
          {"wall_s", number_to_json(result.wall_s)},
          {"when", result.when},
          {"context", to_json(result.facts)},
          {"series", std::move(series)}};
}

json to_json(const Session& session) {
  return {{"experiment_text", session.experiment_text},
          {"experiment_file", session.experiment_file},
          {"overrides", session.overrides},
          {"machine", session.machine},
          {"provenance", session.provenance}};
}

json to_json(const RunInfo& info) {
  json run = to_json(info.first);
  json sessions = json::array();
  for (const Session& session : info.sessions) sessions.push_back(to_json(session));
  run.update({{"name", info.name},
              {"experiment", info.experiment},
              {"title", info.title},
              {"started", info.started},
              {"finished", info.finished},
              {"sessions", std::move(sessions)},
              {"builds", info.builds}});
  return run;
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

Result<Parameters> parameters_from_json(const json& json) {
  FieldReader fields(json, "parameters");
  Parameters parameters;
  if (json.is_object()) {
    for (const auto& [name, text] : json.items()) {
      if (Result<Value> value = value_from_json(text)) {
        parameters[name] = std::move(*value);
      } else {
        fields.wrong(name, "true, false, a number that fits 64 bits or a text");
      }
    }
  }
  return fields.finish(std::move(parameters));
}

Result<Series> series_from_json(const json& json) {
  FieldReader fields(json, "series");
  Series series;
  fields.require("pass");
  fields.require("metric");
  fields.text("pass", series.pass);
  fields.text("metric", series.metric);
  fields.text("part", series.part);
  fields.integer("rank", series.rank);
  fields.text("unit", series.unit);
  read_outcome(fields, series.outcome);
  fields.text("reason", series.reason);
  fields.text("clock", series.clock);
  read_samples(fields, series.samples);
  read_statistics(fields, series.statistics);
  return fields.finish(std::move(series));
}

Result<CaseResult> case_result_from_json(const json& from) {
  FieldReader fields(from, "case");
  CaseResult result;
  fields.integer("ordinal", result.ordinal);
  fields.text("key", result.key);
  fields.text("key_text", result.key_text);
  fields.require("parameters");
  if (const auto* parameters = fields.find("parameters")) {
    fields.take(parameters_from_json(*parameters), result.parameters);
  }
  fields.text("build", result.build);
  fields.integer("session", result.session);
  read_outcome(fields, result.outcome);
  fields.text("reason", result.reason);
  fields.number("wall_s", result.wall_s);
  fields.text("when", result.when);
  json context;
  fields.any("context", context);
  result.facts = case_facts_from_json(std::move(context));
  if (const auto* series = fields.find("series")) {
    if (!series->is_array()) fields.wrong("series", "a list");
    for (const auto& one : *series) {
      Series read;
      fields.take(series_from_json(one), read);
      result.series.push_back(std::move(read));
    }
  }
  return fields.finish(std::move(result));
}

Result<Session> session_from_json(const json& json) {
  FieldReader fields(json, "session");
  Session session;
  read_session(fields, session);
  return fields.finish(std::move(session));
}

Result<RunInfo> run_info_from_json(const json& json) {
  FieldReader fields(json, "run");
  RunInfo info;
  fields.require("name");
  fields.require("experiment");
  fields.text("name", info.name);
  fields.text("experiment", info.experiment);
  fields.text("title", info.title);
  fields.text("started", info.started);
  fields.text("finished", info.finished);
  read_session(fields, info.first);
  read_sessions(fields, info.sessions);
  if (const auto* builds = fields.find("builds")) {
    if (!builds->is_object()) fields.wrong("builds", "an object");
    for (const auto& [build, files] : builds->items()) info.builds[build] = files;
  }
  return fields.finish(std::move(info));
}

const json& member_of(const json& object, const char* name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() ? *found : none;
}

std::string dump(const json& json) {
  return json.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse_json(std::string_view text) {
  const auto watch_depth = [](int depth, json::parse_event_t, json&) {
    if (depth > nesting_limit) throw TooDeep{};  // at once: the rest may be millions of levels
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

}  // namespace assay::store
