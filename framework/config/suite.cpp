#include "config/suite.h"

#include "config/host_parameters.h"

namespace assay::config {
namespace {

template <class Entry>
void append(const std::vector<Entry>& more, std::vector<Entry>& entries) {
  entries.insert(entries.end(), more.begin(), more.end());
}

}  // namespace

Changes Chapter::changes_on(const std::string& device) const {
  Changes all = changes;
  if (const auto found = on.find(device); found != on.end()) {
    append(found->second.settings, all.settings);
    append(found->second.filters, all.filters);
  }
  return all;
}

const std::string& Chapter::leave_on(const std::string& device) const {
  static const std::string stays;
  const auto found = on.find(device);
  return found == on.end() ? stays : found->second.leave;
}

std::vector<std::string> Suite::names() const {
  std::vector<std::string> names;
  for (const Chapter& chapter : chapters) {
    if (!chapter.is_text()) names.push_back(chapter.name);
  }
  return names;
}

std::vector<std::string> suite_devices() {
  std::vector<std::string> devices = find_host_parameter("device")->choices;
  std::erase(devices, "auto");
  return devices;
}

bool is_suite(const yaml::Node& root) {
  return root.is_mapping() && (root.find("suite") != nullptr ||
                               (root.find("chapters") != nullptr && !root.find("experiment")));
}

bool is_suite(std::string_view text) {
  const auto document = yaml::read(text, "");
  return document && is_suite(document->root);
}

}  // namespace assay::config
