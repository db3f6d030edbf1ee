#pragma once

#include "config/read/axes.h"

namespace assay::config {

// Reads `exclude` and `include` of a request into an experiment whose axes have been read.
class CaseEntryReader {
 public:
  CaseEntryReader(const Vocabulary& vocabulary, const Request& request, AxisReader& axes,
                  ValueChecker& checker, Diagnostics& diagnostics)
      : vocabulary_(vocabulary),
        request_(request),
        axes_(axes),
        checker_(checker),
        diagnostics_(diagnostics) {}

  void read(Experiment& experiment);

 private:
  using Parameters = std::map<std::string, Value>;

  bool known_names(const yaml::Node& entry);
  void read_exclude(const yaml::Node& entry, std::vector<Parameters>& excluded);
  std::optional<Parameters> read_include(const yaml::Node& entry, const Experiment& experiment);
  void set_kind(const std::string& kind, const yaml::Node& value, const yaml::Node& entry,
                Parameters& parameters);
  void set_option(const Vocabulary::Meaning& option, const yaml::Node& key, const yaml::Node& value,
                  Parameters& parameters);
  // The option of the parameters' variant, or nullptr.
  const ParameterInfo* option_of(const Parameters& parameters,
                                 const Vocabulary::Meaning& option) const;

  const Vocabulary& vocabulary_;
  const Request& request_;
  AxisReader& axes_;
  ValueChecker& checker_;
  Diagnostics& diagnostics_;
};

}  // namespace assay::config
