#include "run/process/environment.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"

namespace assay::run {

namespace {

// Names of variables; an entry that ends in "_" is a prefix.
constexpr std::string_view of_measurements[] = {"CUDA_",
                                                "CUDNN_",
                                                "CUBLAS_",
                                                "NCCL_",
                                                "OMP_",
                                                "KMP_",
                                                "GOMP_",
                                                "MKL_",
                                                "GLOO_",
                                                "PYTORCH_",
                                                "TORCH_",
                                                "TORCHINDUCTOR_",
                                                "TORCHDYNAMO_",
                                                "TRITON_",
                                                "ATEN_CPU_CAPABILITY",
                                                "DNNL_",
                                                "ONEDNN_",
                                                "MALLOC_",
                                                "LD_PRELOAD",
                                                "NVIDIA_TF32_OVERRIDE",
                                                "ASSAY_HOST_MEMORY_LIMIT",
                                                "ASSAY_PYTHON"};
// They describe the machine, not its use.
constexpr std::string_view of_machines[] = {"LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES"};
constexpr std::array<std::string_view, 7> private_words = {
    "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE"};

bool is_among(const auto& variables, std::string_view name) {
  return std::any_of(std::begin(variables), std::end(variables), [&](std::string_view entry) {
    return entry.ends_with('_') ? name.starts_with(entry) : name == entry;
  });
}

bool is_private(std::string_view name) {
  return std::any_of(private_words.begin(), private_words.end(), [&](std::string_view word) {
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
    if (equals == std::string_view::npos) continue;
    const std::string name(variable.substr(0, equals));
    if (is_private(name)) continue;
    if (!is_among(of_measurements, name) && !is_among(of_machines, name)) continue;
    const std::string_view value = variable.substr(equals + 1);
    std::string kept = without_folders(value);
    if (kept != value) found.shortened.push_back(name);
    found.variables[name] = std::move(kept);
  }
  return found;
}

std::vector<std::string> variable_names(const char* const* variables) {
  std::vector<std::string> names;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool changes_measurements(std::string_view name) {
  // Images set CUDA_VERSION; an imported file may hold malformed names.
  const bool is_setting = !name.ends_with("_VERSION") && name.find('=') == std::string_view::npos;
  return is_setting && is_among(of_measurements, name);
}

}  // namespace assay::run
