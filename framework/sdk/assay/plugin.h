#pragma once

// sdk/assay has the public headers of plugin authors: one for each kind of plugin, and what they
// share. They depend on LibTorch and on no room. Start with the header of your kind.

// The plugin boundary. A library exports one C symbol, `assay_plugin_library`, that returns a
// PluginLibrary; the worker compares its fingerprint with its own before it touches anything
// else. Plugin authors throw as LibTorch does; the guards below, compiled into the plugin's
// library, turn what is thrown into a Status, so that no exception crosses the boundary.

#include <assay/metric.h>
#include <assay/outcome.h>
#include <assay/parameter.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#define ASSAY_SDK_VERSION 1

#ifndef ASSAY_BUILD_FINGERPRINT
#error "build plugins with assay_add_plugin() or find_package(assay): they define the fingerprint"
#endif

namespace assay {

// The options an experiment gave for this plugin, defaults filled in; types as declared.
using Options = std::map<std::string, Value>;

std::int64_t integer_option(const Options& options, std::string_view name);
double real_option(const Options& options, std::string_view name);
bool boolean_option(const Options& options, std::string_view name);
std::string text_option(const Options& options, std::string_view name);

// Thrown by a plugin that cannot do what it is asked: the cell shows N/A with this reason.
class Unsupported : public std::exception {
 public:
  explicit Unsupported(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

// Thrown on the worker's side when a call across the boundary came back with a bad status.
class PluginFailure : public std::exception {
 public:
  explicit PluginFailure(Status status) : status_(std::move(status)) {}
  const char* what() const noexcept override { return status_.reason.c_str(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// What the exception being handled means. Call only from a catch block.
Status status_of_current_exception() noexcept;

// Runs `call` and turns whatever it throws into a status.
template <class Call>
Status guarded(Call&& call) noexcept {
  try {
    call();
    return {};
  } catch (...) {
    return status_of_current_exception();
  }
}

// The other side of `guarded`.
inline void throw_unless_ok(Status status) {
  if (!status.ok()) throw PluginFailure(std::move(status));
}

// What a workload tells of itself beside its parameters.
struct WorkloadInfo {
  std::vector<std::string> passes;
  std::vector<std::string> default_passes;
  std::vector<std::string> uses;  // kinds it is composed with: "attention", "precision", …
  std::vector<MetricInfo> metrics = {};
  std::string default_clock = "wall";  // on a GPU: "wall" or "cuda_event"
};

struct PluginDescription {
  std::vector<ParameterInfo> parameters;
  std::string memory_estimate;       // bytes; an expression over the case's names
  std::vector<std::string> devices;  // "cpu", "cuda": those it runs on; none: all
  WorkloadInfo workload;             // workloads only
};

// Every kind's boundary class derives from this.
class Boundary {
 public:
  virtual ~Boundary() = default;
};

struct PluginEntry {
  const char* kind;
  const char* name;
  const char* description;  // one sentence
  Status (*describe)(PluginDescription& description) noexcept;
  Status (*create)(const Options& options, std::unique_ptr<Boundary>& plugin) noexcept;
};

struct PluginLibrary {
  std::size_t struct_size;
  int sdk_version;
  const char* fingerprint;  // compiler, standard library, LibTorch, CUDA, SDK
  const PluginEntry* entries;
  std::size_t entry_count;
};

namespace detail {

template <class T>
concept HasOptions = requires {
  T::options();
};
template <class T>
concept HasMemoryEstimate = requires {
  T::memory_estimate();
};
template <class T>
concept HasDevices = requires {
  T::devices();
};
template <class T>
concept HasWorkloadInfo = requires {
  T::info();
};

template <class T>
Status describe(PluginDescription& description) noexcept {
  return guarded([&] {
    if constexpr (HasOptions<T>) description.parameters = T::options();
    if constexpr (HasMemoryEstimate<T>) description.memory_estimate = T::memory_estimate();
    if constexpr (HasDevices<T>) description.devices = T::devices();
    if constexpr (HasWorkloadInfo<T>) description.workload = T::info();
  });
}

template <class T>
Status create(const Options& options, std::unique_ptr<Boundary>& plugin) noexcept {
  return guarded([&] {
    using Guard = typename T::template Guard<T>;
    if constexpr (std::is_constructible_v<T, const Options&>) {
      plugin = std::make_unique<Guard>(options);
    } else {
      plugin = std::make_unique<Guard>();
    }
  });
}

}  // namespace detail

// One registration. `T` derives from a kind's class; it may have `static std::vector<ParameterInfo>
// options()`, `static std::string memory_estimate()`, `static std::vector<std::string> devices()`
// and a constructor from `const Options&`.
template <class T>
constexpr PluginEntry plugin(const char* name, const char* description) {
  return {T::kind, name, description, &detail::describe<T>, &detail::create<T>};
}

}  // namespace assay

// The library's entry point, for one or for several registrations.
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
