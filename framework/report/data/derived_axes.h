#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/records/records.h"

// Axes that follow from a case's parameters and counts: the fields of the presets it names
// (`model.d_model` of `model: small`) and what its program counted (`parameters`).
namespace assay::report {

// The fields of presets, given as "model/small" → {d_model: 768, …}.
class PresetFields {
 public:
  explicit PresetFields(const std::map<std::string, nlohmann::json>& presets);
  // Any JSON but an object has no presets.
  explicit PresetFields(const nlohmann::json& presets);

  // "model.d_model" → 768 for parameter "model" with value "small"; numbers, words and truth
  // values, no lists.
  std::map<std::string, Value> of(const std::string& parameter, const Value& value) const;
  std::map<std::string, Value> of(const store::Parameters& parameters) const;

 private:
  std::map<std::string, std::map<std::string, std::map<std::string, Value>>> fields_;
};

// The fields of a run's presets as they were in each session.
class FieldsOfSessions {
 public:
  explicit FieldsOfSessions(const store::RunInfo& info);

  std::map<std::string, Value> of(const store::CaseResult& result) const;

 private:
  std::vector<PresetFields> sessions_;  // by CaseResult::session
};

// What a run's cases lack of its matrix's axes because it is a default, as in each session.
class LeftOutOfSessions {
 public:
  explicit LeftOutOfSessions(const store::RunInfo& info);

  const store::Parameters& of(const store::CaseResult& result) const;

 private:
  std::vector<store::Parameters> sessions_;  // by CaseResult::session
  store::Parameters none_;
};

// The metrics in "count", of no part: the value that the case has in all passes and ranks,
// monostate where they differ.
std::map<std::string, Value> counts_of(const store::CaseResult& result);

}  // namespace assay::report
