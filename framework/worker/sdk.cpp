#include <assay/memory.h>
#include <assay/plugin.h>
#include <fmt/format.h>

#include "measure/memory.h"
#include "worker/process/process_group.h"

namespace assay {

namespace {

template <class T>
const T& option(const Options& options, std::string_view name) {
  const auto found = options.find(std::string(name));
  if (found == options.end()) {
    throw std::out_of_range(
        fmt::format("the plugin reads the option '{}' without declaring it", name));
  }
  const T* held = std::get_if<T>(&found->second);
  if (held == nullptr) {
    throw std::invalid_argument(
        fmt::format("option '{}' is declared with another type than the plugin reads", name));
  }
  return *held;
}

}  // namespace

std::int64_t integer_option(const Options& options, std::string_view name) {
  return option<std::int64_t>(options, name);
}
double real_option(const Options& options, std::string_view name) {
  return option<double>(options, name);
}
bool boolean_option(const Options& options, std::string_view name) {
  return option<bool>(options, name);
}
std::string text_option(const Options& options, std::string_view name) {
  return option<std::string>(options, name);
}

std::int64_t allocated_memory(const c10::Device& device) {
  return measure::allocated_bytes(device);
}
std::int64_t peak_memory(const c10::Device& device) { return measure::peak_bytes(device); }
void reset_peak_memory(const c10::Device& device) { measure::reset_peak(device); }
std::int64_t available_host_memory() {
  return measure::available_host_bytes(worker::placement_from_environment().local_world_size);
}

}  // namespace assay
