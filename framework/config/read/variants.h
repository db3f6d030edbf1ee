#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/experiment.h"
#include "config/read/request.h"
#include "config/read/value_check.h"
#include "config/vocabulary.h"

namespace assay::config {

// Reads values of a plugin kind: "flash", or {flash: {block_m: [64, 128]}}, whose lists expand in
// place. A choice has all options of its variant: the given value, else the kind's fixed one
// ("attention.block_m: 64"), else the default; an option with an axis of its own has its default.
class VariantReader {
 public:
  VariantReader(const Vocabulary& vocabulary, const Request& request, ValueChecker& checker,
                Diagnostics& diagnostics);

  // Reads a list or one value. `more_axes`: option names with values elsewhere.
  std::vector<Choice> read(const std::string& kind, const yaml::Node& value,
                           const std::vector<std::string>& more_axes = {});

 private:
  using Plugin = catalogue::PluginInfo;
  using Values = std::vector<std::pair<std::string, std::vector<Value>>>;

  void read_one(const std::string& kind, const yaml::Node& node, std::vector<Choice>& choices);
  std::vector<Value> option_values(const std::string& name, const ParameterInfo& info,
                                   const Plugin& plugin, const yaml::Node& where,
                                   const yaml::Node* given);
  bool is_axis(const std::string& name) const;
  void add_product(const std::string& variant, const Values& options, const yaml::Node& node,
                   std::vector<Choice>& choices);
  void check_given(const std::string& kind, const Plugin& plugin, const yaml::Node& given);

  const Vocabulary& vocabulary_;
  const Request& request_;
  ValueChecker& checker_;
  Diagnostics& diagnostics_;
  std::vector<std::string> more_axes_;
};

}  // namespace assay::config
