#pragma once

// sdk/assay holds the headers for plugin authors: one for each kind of plugin, and what they share.
// They depend on LibTorch alone. Start with the header of your kind.

#include <assay/detail/boundary.h>
#include <c10/util/Exception.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define ASSAY_SDK_VERSION 1

#ifndef ASSAY_BUILD_FINGERPRINT
#error "build plugins with assay_add_plugin() or find_package(assay): they define the fingerprint"
#endif

namespace assay {

std::int64_t integer_option(const Options& options, std::string_view name);
double real_option(const Options& options, std::string_view name);
bool boolean_option(const Options& options, std::string_view name);
std::string text_option(const Options& options, std::string_view name);

// Throw this for a request the plugin cannot serve: the cell shows N/A with the reason.
class Unsupported : public std::exception {
 public:
  explicit Unsupported(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

// One registration. `T` derives from a kind's class. Optional members: `static
// std::vector<ParameterInfo> options()`, `static std::string memory_estimate()`, of a workload
// `static std::string look_memory_estimate()`, `static std::vector<std::string> devices()`, and a
// constructor from `const Options&`.
template <class T>
constexpr PluginEntry plugin(const char* name, const char* description) {
  return {T::kind, name, description, &detail::describe<T>, &detail::create<T>};
}

}  // namespace assay

// The library's entry point, for one or more registrations.
#define ASSAY_PLUGINS(...)                                                                   \
  extern "C" __attribute__((visibility("default"))) const ::assay::PluginLibrary*            \
  assay_plugin_library() noexcept {                                                          \
    static constexpr ::assay::PluginEntry entries[] = {__VA_ARGS__};                         \
    static constexpr ::assay::PluginLibrary library = {                                      \
        sizeof(::assay::PluginLibrary), ASSAY_SDK_VERSION, ASSAY_BUILD_FINGERPRINT, entries, \
        sizeof(entries) / sizeof(entries[0])};                                               \
    return &library;                                                                         \
  }
#define ASSAY_PLUGIN(Type, name, description) \
  ASSAY_PLUGINS(::assay::plugin<Type>(name, description))
