#include "run/environment.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"

namespace assay::run {

namespace {

constexpr std::array<std::string_view, 15> prefixes = {
    "CUDA_", "CUDNN_", "CUBLAS_",  "NCCL_",  "NVIDIA_TF32", "OMP_",    "KMP_",      "GOMP_",
    "MKL_",  "GLOO_",  "PYTORCH_", "TORCH_", "TRITON_",     "MALLOC_", "LD_PRELOAD"};
// Of containers' and assay's own variables those that choose what is measured.
constexpr std::array<std::string_view, 3> whole_names = {"NVIDIA_VISIBLE_DEVICES", "ASSAY_PYTHON",
                                                         "ASSAY_HOST_MEMORY_LIMIT"};
constexpr std::array<std::string_view, 7> private_words = {
    "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE"};

bool is_recorded(std::string_view name) {
  const bool matters =
      std::find(whole_names.begin(), whole_names.end(), name) != whole_names.end() ||
      std::any_of(prefixes.begin(), prefixes.end(),
                  [&](std::string_view prefix) { return name.starts_with(prefix); });
  return matters &&
         std::none_of(private_words.begin(), private_words.end(), [&](std::string_view word) {
           return name.find(word) != std::string_view::npos;
         });
}

// "/home/ann/lib/libjemalloc.so:/opt/x.so" → "libjemalloc.so:x.so".
std::string without_folders(std::string_view value) {
  std::vector<std::string> paths = split(value, ':');
  for (std::string& path : paths) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) path.erase(0, slash + 1);
  }
  return join(paths, ":");
}

}  // namespace

MeasuringEnvironment measuring_environment(const char* const* variables) {
  MeasuringEnvironment found;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !is_recorded(variable.substr(0, equals))) continue;
    const std::string name(variable.substr(0, equals));
    const std::string_view value = variable.substr(equals + 1);
    std::string kept = without_folders(value);
    if (kept != value) found.shortened.push_back(name);
    found.variables[name] = std::move(kept);
  }
  return found;
}

}  // namespace assay::run
