#include "config/observers.h"

#include "base/text.h"

namespace assay::config {

std::vector<std::string> observers_in(std::string_view setting) {
  std::vector<std::string> names;
  if (trim(setting).empty()) return names;
  for (const std::string& name : split(setting, ',')) names.emplace_back(trim(name));
  return names;
}

}  // namespace assay::config
