#include "run/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "base/shared_library.h"
#include "base/text.h"

namespace assay::run {

namespace {

// The part of NVML's stable C interface that is used here, so that a machine without NVIDIA's
// driver needs none of its headers.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int nvml_success = 0;

class Nvml {
 public:
  explicit Nvml(Machine& machine) : machine_(machine) {}

  void probe() {
    std::error_code error;
    library_.load("libnvidia-ml.so.1", boost::dll::load_mode::search_system_folders, error);
    if (error) {
      machine_.gpu_problem = "no NVIDIA driver (libnvidia-ml.so.1 is not found)";
      return;
    }
    if (function<int()>("nvmlInit_v2")() != nvml_success) {
      machine_.gpu_problem = "the NVIDIA driver does not answer (nvmlInit failed)";
      return;
    }
    char version[96] = {};
    function<int(char*, unsigned)>("nvmlSystemGetDriverVersion")(version, sizeof version);
    machine_.gpu_driver = version;
    unsigned count = 0;
    function<int(unsigned*)>("nvmlDeviceGetCount_v2")(&count);
    for (unsigned index = 0; index < count; ++index) add_device(index);
    function<int()>("nvmlShutdown")();
    if (machine_.gpus.empty()) machine_.gpu_problem = "the NVIDIA driver sees no GPU";
  }

 private:
  template <class Signature>
  std::function<Signature> function(const char* name) {
    return library_.get<Signature>(name);
  }

  void add_device(unsigned index) {
    NvmlDevice device = nullptr;
    if (function<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2")(index, &device) !=
        nvml_success) {
      return;
    }
    Gpu gpu;
    char name[96] = {};
    function<int(NvmlDevice, char*, unsigned)>("nvmlDeviceGetName")(device, name, sizeof name);
    gpu.name = name;
    NvmlMemory memory = {};
    function<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo")(device, &memory);
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
    int major = 0;
    int minor = 0;
    function<int(NvmlDevice, int*, int*)>("nvmlDeviceGetCudaComputeCapability")(device, &major,
                                                                                &minor);
    gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
    machine_.gpus.push_back(std::move(gpu));
  }

  Machine& machine_;
  boost::dll::shared_library library_;
};

std::string after_colon(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(key)) {
      const std::size_t colon = line.find_first_of(":=");
      if (colon != std::string::npos)
        return std::string(trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

std::string without_quotes(std::string text) {
  std::erase(text, '"');
  return text;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

Machine probe_machine() {
  Machine machine;
  utsname names = {};
  ::uname(&names);
  machine.host = names.nodename;
  machine.cpu = after_colon("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = names.machine;
  machine.cores = usable_cores();
  machine.memory_bytes =
      static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  machine.system = without_quotes(after_colon("/etc/os-release", "PRETTY_NAME"));
  machine.system += std::string(machine.system.empty() ? "" : ", ") + "Linux " + names.release;
  Nvml(machine).probe();
  return machine;
}

nlohmann::json to_json(const Machine& machine) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"compute_capability", gpu.compute_capability}});
  }
  return {{"host", machine.host},     {"cpu", machine.cpu},
          {"cores", machine.cores},   {"memory_bytes", machine.memory_bytes},
          {"system", machine.system}, {"gpu_driver", machine.gpu_driver},
          {"gpus", std::move(gpus)}};
}

}  // namespace assay::run
