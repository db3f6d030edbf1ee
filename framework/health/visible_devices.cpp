#include "health/visible_devices.h"

#include <charconv>
#include <numeric>

#include "base/text.h"

namespace assay::health {
namespace {

std::optional<std::size_t> by_number(std::string_view text, std::size_t count) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number < count ? std::optional(number) : std::nullopt;
}

// A unique beginning is enough.
std::optional<std::size_t> by_uuid(std::string_view text, const std::vector<std::string>& uuids) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!uuids[i].starts_with(text)) continue;
    if (found) return {};
    found = i;
  }
  return found;
}

}  // namespace

std::vector<std::size_t> visible_devices(
    const char* variable, const std::vector<std::string>& uuids,
    const std::function<std::optional<std::size_t>(const std::string&)>& owner_of_part) {
  std::vector<std::size_t> devices;
  if (variable == nullptr) {
    devices.resize(uuids.size());
    std::iota(devices.begin(), devices.end(), std::size_t{0});
    return devices;
  }
  for (const std::string& entry : split(variable, ',')) {
    const std::string_view text = trim(entry);
    const auto device = text.starts_with("MIG-")   ? owner_of_part(std::string(text))
                        : text.starts_with("GPU-") ? by_uuid(text, uuids)
                                                   : by_number(text, uuids.size());
    if (!device) break;
    devices.push_back(*device);
  }
  return devices;
}

}  // namespace assay::health
