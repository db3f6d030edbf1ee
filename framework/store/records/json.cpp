#include "store/records/json.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::store {
namespace {

using nlohmann::json;

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

void read_session(FieldReader& fields, Session& into) {
  fields.text("experiment_text", into.experiment_text);
  fields.text("experiment_file", into.experiment_file);
  fields.texts("overrides", into.overrides);
  fields.any("machine", into.machine);
  fields.any("provenance", into.provenance);
}

}  // namespace

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
  json object = {{"pass", series.pass},           {"metric", series.metric},
                 {"part", series.part},           {"rank", series.rank},
                 {"unit", series.unit},           {"outcome", to_text(series.outcome)},
                 {"reason", series.reason},       {"clock", series.clock},
                 {"samples", std::move(samples)}, {"statistics", std::move(statistics)}};
  if (!series.lane.empty()) object["lane"] = series.lane;
  if (!series.words.empty()) object["words"] = series.words;
  return object;
}

json to_json(const Artefact& artefact) {
  return {{"pass", artefact.pass},
          {"rank", artefact.rank},
          {"name", artefact.name},
          {"file", artefact.file},
          {"media_type", artefact.media_type},
          {"bytes", artefact.bytes},
          {"sha256", artefact.sha256}};
}

json to_json(const CaseResult& result) {
  json series = json::array();
  for (const Series& one : result.series) series.push_back(to_json(one));
  json object = {{"ordinal", result.ordinal},
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
  for (const Artefact& one : result.artefacts) object["artefacts"].push_back(to_json(one));
  return object;
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

Result<Parameters> parameters_from_json(const json& json) {
  FieldReader fields(json, "parameters");
  Parameters parameters;
  if (json.is_object()) {
    for (const auto& [name, text] : json.get_ref<const nlohmann::json::object_t&>()) {
      if (Result<Value> value = value_from_json(text)) {
        parameters.emplace_hint(parameters.end(), name, std::move(*value));  // both are sorted
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
  fields.outcome("outcome", series.outcome);
  fields.text("reason", series.reason);
  fields.text("clock", series.clock);
  read_samples(fields, series.samples);
  read_statistics(fields, series.statistics);
  fields.text("lane", series.lane);
  fields.texts("words", series.words);
  return fields.finish(std::move(series));
}

Result<Artefact> artefact_from_json(const json& json) {
  FieldReader fields(json, "artefact");
  Artefact artefact;
  for (const char* needed : {"name", "file", "sha256"}) fields.require(needed);
  fields.text("pass", artefact.pass);
  fields.integer("rank", artefact.rank);
  fields.text("name", artefact.name);
  fields.text("file", artefact.file);
  fields.text("media_type", artefact.media_type);
  fields.integer("bytes", artefact.bytes);
  fields.text("sha256", artefact.sha256);
  return fields.finish(std::move(artefact));
}

Result<CaseResult> case_result_from_json(const json& from) {
  FieldReader fields(from, "case");
  CaseResult result;
  fields.integer("ordinal", result.ordinal);
  fields.text("key", result.key);
  fields.text("key_text", result.key_text);
  fields.require("parameters");
  fields.object("parameters", parameters_from_json, result.parameters);
  fields.text("build", result.build);
  fields.integer("session", result.session);
  fields.outcome("outcome", result.outcome);
  fields.text("reason", result.reason);
  fields.number("wall_s", result.wall_s);
  fields.text("when", result.when);
  json context;
  fields.any("context", context);
  result.facts = case_facts_from_json(std::move(context));
  fields.list("series", series_from_json, result.series);
  fields.list("artefacts", artefact_from_json, result.artefacts);
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
  fields.list("sessions", session_from_json, info.sessions);
  if (const auto* builds = fields.find("builds")) {
    if (builds->is_object()) {
      builds->get_to(info.builds);
    } else {
      fields.wrong("builds", "an object");
    }
  }
  return fields.finish(std::move(info));
}

}  // namespace assay::store
