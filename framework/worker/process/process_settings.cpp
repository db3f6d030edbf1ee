#include "worker/process/process_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/text.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#if ASSAY_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#endif

extern char** environ;

namespace assay::worker {

namespace {

std::string on_or_off(bool on) { return on ? "on" : "off"; }

// LibTorch has two settings of each, and does not answer where they contradict each other.
std::string tf32_in_words(bool (*is_on)()) {
  try {
    return on_or_off(is_on());
  } catch (const c10::Error&) {
    return "on by one setting, off by another";
  }
}

std::string of_onednn(at::Float32Op op) {
  try {
    return at::precision2str(at::globalContext().float32Precision(at::Float32Backend::MKLDNN, op));
  } catch (const c10::Error&) {
    return "unknown";
  }
}

void add_switches(ProcessSettings& settings) {
  const at::Context& context = at::globalContext();
  const std::pair<const char*, bool> switches[] = {
      {"deterministic algorithms", context.deterministicAlgorithms()},
      {"warnings alone of algorithms that are not deterministic",
       context.deterministicAlgorithmsWarnOnly()},
      {"deterministic cuDNN", context.deterministicCuDNN()},
      {"filling of fresh memory", context.deterministicFillUninitializedMemory()},
      {"cuDNN's benchmark mode", context.benchmarkCuDNN()},
      {"cuDNN", context.userEnabledCuDNN()},
      {"oneDNN", context.userEnabledMkldnn()},
      {"flash attention of LibTorch", context.userEnabledFlashSDP()},
      {"memory-efficient attention of LibTorch", context.userEnabledMemEfficientSDP()},
      {"plain attention of LibTorch", context.userEnabledMathSDP()},
      {"cuDNN's attention", context.userEnabledCuDNNSDP()},
      {"reduced precision within plain attention", context.allowFP16BF16ReductionMathSDP()},
      {"fp16 accumulation in cuBLAS", context.allowFP16AccumulationCuBLAS()},
      {"fp16 reduction on the CPU", context.allowFP16ReductionCPU()},
      {"TF32 of oneDNN", context.allowTF32OneDNN()},
      {"recording of gradients", c10::GradMode::is_enabled()},
      {"inference mode", c10::InferenceMode::is_enabled()},
      {"autocast on the CPU", at::autocast::is_autocast_enabled(at::kCPU)},
      {"autocast on GPUs", at::autocast::is_autocast_enabled(at::kCUDA)},
      {"observers of LibTorch's functions", at::hasCallbacks()},
  };
  for (const auto& [name, on] : switches) settings[name] = on_or_off(on);
  settings["oneDNN's fp32 in matrix products"] = of_onednn(at::Float32Op::MATMUL);
  settings["oneDNN's fp32 in convolutions"] = of_onednn(at::Float32Op::CONV);
  settings["reduced precision of fp16 sums in cuBLAS"] =
      fmt::format("{}", static_cast<int>(context.allowFP16ReductionCuBLAS()));
  settings["reduced precision of bf16 sums in cuBLAS"] =
      fmt::format("{}", static_cast<int>(context.allowBF16ReductionCuBLAS()));
}

#if ASSAY_WITH_CUDA
// A GPU that lacks a limit says so, which no later call should find as its own error.
std::string device_limit(cudaLimit limit) {
  std::size_t value = 0;
  if (cudaDeviceGetLimit(&value, limit) == cudaSuccess) return std::to_string(value);
  static_cast<void>(cudaGetLastError());
  return "none";
}
#endif

void add_libtorch(const c10::Device& device, ProcessSettings& settings) {
  settings["threads of LibTorch"] = std::to_string(at::get_num_threads());
  settings["threads between LibTorch's operators"] = std::to_string(at::get_num_interop_threads());
  settings["default dtype"] = std::string(c10::get_default_dtype().name());
  const auto local = c10::impl::tls_local_dispatch_key_set();
  settings["dispatch keys of the thread"] =
      fmt::format("{:x} without {:x}", local.included_.raw_repr(), local.excluded_.raw_repr());
  settings["allocator of host memory"] = fmt::format("{}", fmt::ptr(c10::GetCPUAllocator()));
#if ASSAY_WITH_CUDA
  if (!device.is_cuda()) return;
  settings["current GPU"] = std::to_string(c10::cuda::current_device());
  settings["current stream"] =
      std::to_string(c10::cuda::getCurrentCUDAStream(device.index()).unwrap().id());
  settings["allocator of GPU memory"] =
      fmt::format("{}", fmt::ptr(c10::cuda::CUDACachingAllocator::get()));
  // Without that of the stack, which the driver itself raises for kernels that need more.
  const std::pair<const char*, cudaLimit> limits[] = {
      {"heap of GPU threads", cudaLimitMallocHeapSize},
      {"buffer of printf on the GPU", cudaLimitPrintfFifoSize},
      {"L2 cache for persisting lines", cudaLimitPersistingL2CacheSize},
      {"granularity of the L2 cache", cudaLimitMaxL2FetchGranularity},
  };
  for (const auto& [name, limit] : limits) settings[name] = device_limit(limit);
#else
  static_cast<void>(device);
#endif
}

// Beside the exceptions that have been raised.
std::string floating_point_mode() {
#if defined(__x86_64__)
  return fmt::format("{:x}", _mm_getcsr() & 0xFFC0u);
#else
  return std::to_string(std::fegetround());
#endif
}

std::string cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "unknown";
  std::vector<std::string> words;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) words.push_back(std::to_string(core));
  }
  return join(words, " ");
}

std::string priority() {
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  sched_param scheduled = {};
  ::sched_getparam(0, &scheduled);
  return fmt::format("nice {}, policy {}, {}", nice, ::sched_getscheduler(0),
                     scheduled.sched_priority);
}

std::string limits() {
  std::string text;
  for (int resource = 0; resource < static_cast<int>(RLIM_NLIMITS); ++resource) {
    rlimit limit = {};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    text += fmt::format("{}:{}/{} ", resource, limit.rlim_cur, limit.rlim_max);
  }
  return text;
}

std::string working_folder() {
  std::array<char, 4096> path{};
  return ::getcwd(path.data(), path.size()) == nullptr ? "gone" : path.data();
}

// A call would have to change it to read it.
std::string file_mode_mask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) return std::string(trim(line.substr(6)));
    if (line.starts_with("Pid:")) break;
  }
  return {};
}

void add_system(ProcessSettings& settings) {
  settings["cores that the thread may use"] = cores();
  settings["priority"] = priority();
  settings["limits of the process"] = limits();
  settings["working folder"] = working_folder();
  settings["mask of file modes"] = file_mode_mask();
  settings["floating-point mode"] = floating_point_mode();
  settings["timer slack"] = std::to_string(::prctl(PR_GET_TIMERSLACK));
  settings["use of huge pages"] = ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0 ? "on" : "off";
  const char* locale = std::setlocale(LC_ALL, nullptr);
  settings["locale"] = locale == nullptr ? "" : locale;
}

constexpr std::string_view prefix_of_variables = "variable ";

void add_environment(ProcessSettings& settings) {
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view text = *one;
    const std::string_view name = text.substr(0, text.find('='));
    // Values may be secrets: only whether they differ is told.
    settings[fmt::format("{}{}", prefix_of_variables, name)] =
        fmt::format("{:x}", std::hash<std::string_view>{}(text));
  }
}

std::string change_in_words(const std::string& name, const std::string* before,
                            const std::string* after) {
  const bool is_variable = name.starts_with(prefix_of_variables);
  if (before == nullptr) return name + " is set";
  if (after == nullptr) return name + " is gone";
  constexpr std::size_t longest = 60;
  const bool tells = !is_variable && before->size() <= longest && after->size() <= longest;
  return tells ? fmt::format("{}: {}, was {}", name, *after, *before) : name + " differs";
}

}  // namespace

ProcessSettings process_settings(const c10::Device& device) {
  ProcessSettings settings = numeric_settings();
  add_switches(settings);
  add_libtorch(device, settings);
  add_system(settings);
  add_environment(settings);
  return settings;
}

ProcessSettings library_variables(const ProcessSettings& settings) {
  ProcessSettings variables;
  const std::string prefix = fmt::format("{}NCCL_", prefix_of_variables);
  for (const auto& setting : settings) {
    if (setting.first.starts_with(prefix)) variables.insert(setting);
  }
  return variables;
}

ProcessSettings numeric_settings() {
  return {
      {"TF32 in matrix products",
       tf32_in_words([] { return at::globalContext().allowTF32CuBLAS(); })},
      {"TF32 in convolutions", tf32_in_words([] { return at::globalContext().allowTF32CuDNN(); })}};
}

std::string changes_in_words(const ProcessSettings& before, const ProcessSettings& after) {
  std::vector<std::string> changes;
  const auto look = [&](const std::string& name) {
    const auto earlier = before.find(name);
    const auto later = after.find(name);
    const std::string* was = earlier == before.end() ? nullptr : &earlier->second;
    const std::string* is = later == after.end() ? nullptr : &later->second;
    const bool same = was != nullptr && is != nullptr && *was == *is;
    if (!same) changes.push_back(change_in_words(name, was, is));
  };
  for (const auto& [name, value] : before) look(name);
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) look(name);
  }
  constexpr std::size_t most = 5;
  const std::size_t more = changes.size() > most ? changes.size() - most : 0;
  changes.resize(changes.size() - more);
  if (more > 0) changes.push_back(fmt::format("and {} more", more));
  return join(changes, "; ");
}

}  // namespace assay::worker
