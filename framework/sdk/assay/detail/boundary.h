#pragma once

// The plugin boundary. A library exports one C symbol, `assay_plugin_library`, which returns a
// PluginLibrary. The worker compares fingerprints before it touches anything else. No exception
// crosses the boundary: a library hides its symbols, so the same exception class is another type on
// the other side. The guards, compiled into the plugin's library, turn exceptions into a Status;
// the handles, compiled into the caller's library, throw again.

#include <assay/metric.h>
#include <assay/outcome.h>
#include <assay/parameter.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

// Thrown on the worker's side for a bad status from across the boundary.
class PluginFailure : public std::exception {
 public:
  explicit PluginFailure(Status status) : status_(std::move(status)) {}
  const char* what() const noexcept override { return status_.reason.c_str(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// The status of the exception being handled. Call only from a catch block.
Status status_of_current_exception() noexcept;

// Runs `call` and returns what it throws as a status.
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

struct PluginDescription {
  std::vector<ParameterInfo> parameters;
  std::string memory_estimate;       // bytes; an expression over the case's names
  std::string look_memory_estimate;  // of workloads: bytes that a look takes beside the case
  std::vector<std::string> devices;  // "cpu", "cuda"; empty: all
  WorkloadInfo workload;             // workloads; of observers the metrics
};

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

template <class Kind, class BoundaryOfKind>
class Guard : public BoundaryOfKind {
 public:
  explicit Guard(std::shared_ptr<Kind> plugin) : plugin_(std::move(plugin)) {}

 protected:
  std::shared_ptr<Kind> plugin_;
};

template <class T>
Status describe(PluginDescription& description) noexcept {
  return guarded([&] {
    if constexpr (requires { T::options(); }) description.parameters = T::options();
    if constexpr (requires { T::memory_estimate(); })
      description.memory_estimate = T::memory_estimate();
    if constexpr (requires { T::look_memory_estimate(); })
      description.look_memory_estimate = T::look_memory_estimate();
    if constexpr (requires { T::devices(); }) description.devices = T::devices();
    if constexpr (requires { T::info(); }) description.workload = T::info();
    if constexpr (requires { T::metrics(); }) description.workload.metrics = T::metrics();
  });
}

template <class T>
Status create(const Options& options, std::unique_ptr<Boundary>& plugin) noexcept {
  return guarded([&] {
    // Each kind overloads guard_of().
    if constexpr (std::is_constructible_v<T, const Options&>) {
      plugin = guard_of(std::make_unique<T>(options));
    } else {
      plugin = guard_of(std::make_unique<T>());
    }
  });
}

}  // namespace detail

}  // namespace assay
