#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/read/variants.h"

namespace assay::config {

// Reads the settings of a request into the axes and the fixed values of an experiment.
class AxisReader {
 public:
  AxisReader(const Vocabulary& vocabulary, const Request& request, ValueChecker& checker,
             Diagnostics& diagnostics);

  // Fills matrix, fixed (with defaults) and pinned.
  void read(Experiment& experiment);

  // Checks one value of a known name; an option takes what some variant accepts.
  std::optional<Value> check(const std::string& name, const yaml::Node& node);

  VariantReader& variants() { return variants_; }

 private:
  using Meaning = Vocabulary::Meaning;

  void check_names();
  void read_kinds(Experiment& experiment);
  void read_axis(const Setting& setting, Experiment& experiment);
  std::vector<Choice> axis_choices(const Setting& setting, const Meaning& meaning);
  // The default of a kind the experiment does not name.
  std::vector<Choice> implied_choice(const std::string& kind);
  void read_fixed(const Setting& setting, Experiment& experiment);
  void add_defaults(Experiment& experiment);
  void name_left_out(Experiment& experiment) const;
  // The experiment's variants that have the option.
  std::vector<const catalogue::PluginInfo*> owners(const Meaning& option) const;
  bool has_owner(const Setting& setting, const Meaning& option);
  std::optional<Value> check_option(const std::string& name, const yaml::Node& node,
                                    const Meaning& option);

  const Vocabulary& vocabulary_;
  const Request& request_;
  ValueChecker& checker_;
  Diagnostics& diagnostics_;
  VariantReader variants_;
  std::map<std::string, std::vector<Choice>> chosen_;  // by kind
};

}  // namespace assay::config
