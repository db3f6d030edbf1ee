#include "wire/messages.h"

#include "store/records/json.h"
#include "wire/fields.h"

namespace assay::wire {

namespace {

Result<store::Parameters> parameters_at(const nlohmann::json& message, const char* name) {
  return store::parameters_from_json(message.at(name));
}

}  // namespace

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
  for (const auto& [pass, file] : message.exchanged) {
    exchanged.push_back({{"pass", pass}, {"file", file}});
  }
  return {{"type", "case"},
          {"ordinal", message.ordinal},
          {"parameters", store::to_json(message.parameters)},
          {"passes", message.passes},
          {"pinned", message.pinned},
          {"presets", std::move(presets)},
          {"plugin_files", message.plugin_files},
          {"exchanged", std::move(exchanged)},
          {"takes_turns", message.takes_turns}};
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
  return {{"type", "case_done"},
          {"ordinal", message.ordinal},
          {"outcome", to_text(message.outcome)},
          {"reason", message.reason},
          {"context", to_json(message.facts)}};
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

std::string message_type(const nlohmann::json& message) {
  const auto type = message.find("type");
  return message.is_object() && type != message.end() && type->is_string()
             ? type->get<std::string>()
             : std::string();
}

Result<Hello> hello_from_json(const nlohmann::json& message) {
  return parse_message("hello", [&]() -> Result<Hello> {
    auto versions = parameters_at(message, "versions");
    if (!versions) return tl::unexpected(versions.error());
    return Hello{message.at("token"), integer_at<int>(message, "rank"),
                 integer_at<int>(message, "pid"), std::move(*versions)};
  });
}

Result<CaseRequest> case_request_from_json(const nlohmann::json& message) {
  return parse_message("case", [&]() -> Result<CaseRequest> {
    CaseRequest request;
    request.ordinal = integer_at<std::int64_t>(message, "ordinal");
    auto parameters = parameters_at(message, "parameters");
    if (!parameters) return tl::unexpected(parameters.error());
    request.parameters = std::move(*parameters);
    request.passes = message.at("passes").get<std::vector<std::string>>();
    request.pinned = message.at("pinned").get<std::set<std::string>>();
    for (const auto& [name, fields] : message.at("presets").items()) {
      auto preset = store::parameters_from_json(fields);
      if (!preset) return tl::unexpected(preset.error());
      request.presets[name] = std::move(*preset);
    }
    request.plugin_files = message.at("plugin_files").get<std::vector<std::string>>();
    for (const auto& exchange : message.at("exchanged")) {
      request.exchanged.push_back({exchange.at("pass"), exchange.at("file")});
    }
    request.takes_turns = message.at("takes_turns");
    return request;
  });
}

Result<Progress> progress_from_json(const nlohmann::json& message) {
  return parse_message("progress", [&]() -> Result<Progress> {
    return Progress{integer_at<std::int64_t>(message, "ordinal"), message.at("doing")};
  });
}

Result<Measured> measured_from_json(const nlohmann::json& message) {
  return parse_message("measured", [&]() -> Result<Measured> {
    auto series = store::series_from_json(message.at("series"));
    if (!series) return tl::unexpected(series.error());
    return Measured{integer_at<std::int64_t>(message, "ordinal"), std::move(*series)};
  });
}

Result<CaseDone> case_done_from_json(const nlohmann::json& message) {
  return parse_message("case_done", [&]() -> Result<CaseDone> {
    const auto outcome = outcome_from_text(message.at("outcome").get<std::string>());
    if (!outcome) return fail(ExitCode::machine_lacks, "a case ended with an unknown outcome");
    return CaseDone{integer_at<std::int64_t>(message, "ordinal"), *outcome, message.at("reason"),
                    store::case_facts_from_json(message.at("context"))};
  });
}

Result<TurnWanted> turn_wanted_from_json(const nlohmann::json& message) {
  return parse_message("turn_wanted", [&]() -> Result<TurnWanted> {
    return TurnWanted{integer_at<std::int64_t>(message, "ordinal"), message.at("pass"),
                      integer_at<std::int64_t>(message, "taken"),
                      integer_at<std::int64_t>(message, "planned")};
  });
}

Result<Turn> turn_from_json(const nlohmann::json& message) {
  return parse_message("turn", [&]() -> Result<Turn> {
    const Turn turn = {integer_at<std::int64_t>(message, "ordinal"),
                       integer_at<std::int64_t>(message, "samples"), message.at("after_others")};
    if (turn.samples < 1) throw Malformed{"'samples' should be at least 1"};
    return turn;
  });
}

}  // namespace assay::wire
