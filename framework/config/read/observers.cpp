#include "config/read/observers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/host_parameters.h"
#include "config/observers.h"

namespace assay::config {
namespace {

void check_names_in(const yaml::Node& node, const std::vector<std::string>& known,
                    Diagnostics& diagnostics) {
  for (const std::string& name : observers_in(node.text)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    diagnostics.add(node.where,
                    fmt::format("unknown observer '{}'{}", name, suggestion(name, known)),
                    known.empty() ? "no observer is installed" : "known: " + join(known, ", "));
  }
}

}  // namespace

void check_observers(const Request& request, const catalogue::Catalogue& catalogue,
                     Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const auto* plugin : catalogue.of_kind("observer")) known.push_back(plugin->name);
  for (const auto* section : {&request.fixed, &request.matrix}) {
    const Setting* setting = find_setting(*section, observe_setting);
    if (setting == nullptr) continue;
    for (const yaml::Node& item : setting->value.one_or_more()) {
      check_names_in(item, known, diagnostics);
    }
  }
  for (const yaml::Node& entry : request.include) {
    if (const yaml::Node* node = entry.find(observe_setting)) {
      check_names_in(*node, known, diagnostics);
    }
  }
}

}  // namespace assay::config
