#include "wire/messages.h"

#include <fmt/format.h>

#include "store/records/json.h"

namespace assay::wire {

namespace {

nlohmann::json to_json(const ExchangeFile& exchange) {
  return {{"pass", exchange.pass}, {"file", exchange.file}};
}

Result<ExchangeFile> exchange_from_json(const nlohmann::json& json) {
  FieldReader fields(json, "a file", FieldReader::Needs::every_field);
  ExchangeFile exchange;
  fields.text("pass", exchange.pass);
  fields.text("file", exchange.file);
  return fields.finish(std::move(exchange));
}

}  // namespace

FieldReader reader_of(const nlohmann::json& message, const char* type) {
  return {message, fmt::format("a malformed '{}' message", type), FieldReader::Needs::every_field,
          ExitCode::machine_lacks};
}

nlohmann::json to_json(const Hello& message) {
  return {{"type", "hello"},
          {"token", message.token},
          {"rank", message.rank},
          {"pid", message.pid},
          {"versions", store::to_json(message.versions)}};
}

nlohmann::json to_json(const CaseRequest& message) {
  nlohmann::json presets = nlohmann::json::object();
  for (const auto& [name, fields] : message.presets) presets[name] = store::to_json(fields);
  nlohmann::json exchanged = nlohmann::json::array();
  for (const ExchangeFile& file : message.exchanged) exchanged.push_back(to_json(file));
  return {{"type", "case"},
          {"ordinal", message.ordinal},
          {"parameters", store::to_json(message.parameters)},
          {"passes", message.passes},
          {"pinned", message.pinned},
          {"presets", std::move(presets)},
          {"plugin_files", message.plugin_files},
          {"exchanged", std::move(exchanged)},
          {"takes_turns", message.takes_turns},
          {"observers", message.observers},
          {"begin_s", message.begin_s},
          {"artefact_folder", message.artefact_folder},
          {"artefact_limit_bytes", message.artefact_limit_bytes}};
}

nlohmann::json to_json(const Progress& message) {
  return {{"type", "progress"}, {"ordinal", message.ordinal}, {"doing", message.doing}};
}

nlohmann::json to_json(const Measured& message) {
  return {{"type", "measured"},
          {"ordinal", message.ordinal},
          {"series", store::to_json(message.series)}};
}

nlohmann::json to_json(const CaseDone& message) {
  nlohmann::json artefacts = nlohmann::json::array();
  for (const store::Artefact& one : message.artefacts) artefacts.push_back(store::to_json(one));
  return {{"type", "case_done"},
          {"ordinal", message.ordinal},
          {"outcome", to_text(message.outcome)},
          {"reason", message.reason},
          {"context", to_json(message.facts)},
          {"artefacts", std::move(artefacts)}};
}

nlohmann::json to_json(const TurnWanted& message) {
  return {{"type", "turn_wanted"},
          {"ordinal", message.ordinal},
          {"pass", message.pass},
          {"taken", message.taken},
          {"planned", message.planned}};
}

nlohmann::json to_json(const Turn& message) {
  return {{"type", "turn"},
          {"ordinal", message.ordinal},
          {"samples", message.samples},
          {"after_others", message.after_others}};
}

std::string message_type(const nlohmann::json& message) { return string_at(message, "type"); }

Result<Hello> hello_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "hello");
  Hello hello;
  fields.text("token", hello.token);
  fields.integer("rank", hello.rank);
  fields.integer("pid", hello.pid);
  fields.object("versions", store::parameters_from_json, hello.versions);
  return fields.finish(std::move(hello));
}

Result<CaseRequest> case_request_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "case");
  CaseRequest request;
  fields.integer("ordinal", request.ordinal);
  fields.object("parameters", store::parameters_from_json, request.parameters);
  fields.texts("passes", request.passes);
  std::vector<std::string> pinned;
  fields.texts("pinned", pinned);
  request.pinned.insert(pinned.begin(), pinned.end());
  if (const nlohmann::json* presets = fields.find("presets")) {
    for (const auto& [name, preset] : presets->items()) {
      fields.take(store::parameters_from_json(preset), request.presets[name]);
    }
  }
  fields.texts("plugin_files", request.plugin_files);
  fields.list("exchanged", exchange_from_json, request.exchanged);
  fields.truth("takes_turns", request.takes_turns);
  fields.texts("observers", request.observers);
  fields.number("begin_s", request.begin_s);
  fields.text("artefact_folder", request.artefact_folder);
  fields.integer("artefact_limit_bytes", request.artefact_limit_bytes);
  return fields.finish(std::move(request));
}

Result<Progress> progress_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "progress");
  Progress progress;
  fields.integer("ordinal", progress.ordinal);
  fields.text("doing", progress.doing);
  return fields.finish(std::move(progress));
}

Result<Measured> measured_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "measured");
  Measured measured;
  fields.integer("ordinal", measured.ordinal);
  fields.object("series", store::series_from_json, measured.series);
  return fields.finish(std::move(measured));
}

Result<CaseDone> case_done_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "case_done");
  CaseDone done;
  fields.integer("ordinal", done.ordinal);
  fields.outcome("outcome", done.outcome);
  fields.text("reason", done.reason);
  if (const nlohmann::json* facts = fields.find("context")) {
    done.facts = store::case_facts_from_json(*facts);
  }
  fields.list("artefacts", store::artefact_from_json, done.artefacts);
  return fields.finish(std::move(done));
}

Result<TurnWanted> turn_wanted_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "turn_wanted");
  TurnWanted wanted;
  fields.integer("ordinal", wanted.ordinal);
  fields.text("pass", wanted.pass);
  fields.integer("taken", wanted.taken);
  fields.integer("planned", wanted.planned);
  return fields.finish(std::move(wanted));
}

Result<Turn> turn_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "turn");
  Turn turn;
  fields.integer("ordinal", turn.ordinal);
  fields.integer("samples", turn.samples);
  fields.truth("after_others", turn.after_others);
  if (turn.samples < 1) fields.wrong("samples", "at least 1");
  return fields.finish(turn);
}

}  // namespace assay::wire
