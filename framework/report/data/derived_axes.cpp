#include "report/data/derived_axes.h"

#include <cmath>
#include <optional>

#include "base/json.h"
#include "store/records/json.h"

namespace assay::report {
namespace {

std::optional<Value> scalar(const nlohmann::json& field) {
  if (field.is_number_integer()) return Value(field.get<std::int64_t>());
  if (field.is_number()) return Value(field.get<double>());
  if (field.is_boolean()) return Value(field.get<bool>());
  if (field.is_string()) return Value(field.get<std::string>());
  return std::nullopt;
}

std::map<std::string, Value> fields_named(const std::string& parameter,
                                          const nlohmann::json& preset) {
  std::map<std::string, Value> fields;
  if (!preset.is_object()) return fields;
  for (const auto& [name, field] : preset.items()) {
    if (auto value = scalar(field)) fields.emplace(parameter + "." + name, std::move(*value));
  }
  return fields;
}

// nullopt: the series holds no single number.
std::optional<double> only_number(const store::Series& series) {
  if (!series.samples.empty()) {
    const double first = series.samples.front();
    for (const double sample : series.samples) {
      if (sample != first) return std::nullopt;
    }
    return first;
  }
  const auto mean = series.statistics.find("mean");
  return mean == series.statistics.end() ? std::nullopt : std::optional(mean->second);
}

Value whole_if_possible(double number) {
  constexpr double largest = 9007199254740992;  // 2^53
  if (number == std::floor(number) && std::fabs(number) <= largest) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

}  // namespace

PresetFields::PresetFields(const std::map<std::string, nlohmann::json>& presets) {
  for (const auto& [key, preset] : presets) {
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) continue;
    const std::string parameter = key.substr(0, slash);
    fields_[parameter][key.substr(slash + 1)] = fields_named(parameter, preset);
  }
}

PresetFields::PresetFields(const nlohmann::json& presets)
    : PresetFields(presets.is_object() ? presets.get<std::map<std::string, nlohmann::json>>()
                                       : std::map<std::string, nlohmann::json>()) {}

std::map<std::string, Value> PresetFields::of(const std::string& parameter,
                                              const Value& value) const {
  const auto presets = fields_.find(parameter);
  if (presets == fields_.end()) return {};
  const auto preset = presets->second.find(to_text(value));
  return preset == presets->second.end() ? std::map<std::string, Value>() : preset->second;
}

std::map<std::string, Value> PresetFields::of(const store::Parameters& parameters) const {
  std::map<std::string, Value> all;
  for (const auto& [parameter, presets] : fields_) {
    const auto named = parameters.find(parameter);
    if (named != parameters.end()) all.merge(of(parameter, named->second));
  }
  return all;
}

FieldsOfSessions::FieldsOfSessions(const store::RunInfo& info) {
  const auto add = [&](const store::Session& session) {
    const auto& provenance = session.provenance;
    const auto presets = provenance.is_object() ? provenance.find("presets") : provenance.end();
    sessions_.emplace_back(presets == provenance.end() ? nlohmann::json() : *presets);
  };
  add(info.first);
  for (const store::Session& session : info.sessions) add(session);
}

std::map<std::string, Value> FieldsOfSessions::of(const store::CaseResult& result) const {
  const auto session = static_cast<std::size_t>(result.session);
  return session < sessions_.size() ? sessions_[session].of(result.parameters)
                                    : std::map<std::string, Value>();
}

LeftOutOfSessions::LeftOutOfSessions(const store::RunInfo& info) {
  const auto add = [&](const store::Session& session) {
    auto read = store::parameters_from_json(member_of(session.provenance, "left_out"));
    sessions_.push_back(read ? std::move(*read) : store::Parameters());
  };
  add(info.first);
  for (const store::Session& session : info.sessions) add(session);
}

const store::Parameters& LeftOutOfSessions::of(const store::CaseResult& result) const {
  const auto session = static_cast<std::size_t>(result.session);
  return session < sessions_.size() ? sessions_[session] : none_;
}

std::map<std::string, Value> counts_of(const store::CaseResult& result) {
  std::map<std::string, std::optional<double>> counts;
  for (const store::Series& series : result.series) {
    if (series.unit != "count" || !series.part.empty()) continue;
    const auto number = only_number(series);
    const auto [at, added] = counts.emplace(series.metric, number);
    if (!added && at->second != number) at->second.reset();
  }
  std::map<std::string, Value> values;
  for (const auto& [metric, number] : counts) {
    values.emplace(metric, number ? whole_if_possible(*number) : Value{});
  }
  return values;
}

}  // namespace assay::report
