#include "health/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/shared_library.h"

namespace assay::health {

namespace {

// From NVML's stable C interface (nvml.h of CUDA 13).
using Device = void*;
using Status = int;
constexpr Status success = 0;
constexpr Status insufficient_size = 7;
constexpr unsigned sm_clock = 1;
constexpr unsigned memory_clock = 2;
constexpr unsigned gpu_temperature = 0;
constexpr unsigned power_policy = 0;
constexpr unsigned thermal_policy = 1;
constexpr std::size_t text_size = 96;
constexpr unsigned most_nvlinks = 18;
constexpr int over_nvlink = 2;  // of the abilities between peers

struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;  // percent
};
struct ViolationTime {
  unsigned long long reference_us, violation_ns;
};
struct PciInfo {
  char legacy_address[16];
  unsigned domain, bus, device, ids, subsystem_ids;
  char address[32];
};
struct Process {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

// Functions that an older driver lacks are null.
struct Nvml::Functions {
  explicit Functions(boost::dll::shared_library opened) : library(std::move(opened)) {
    find(init, {"nvmlInit_v2"});
    find(shutdown, {"nvmlShutdown"});
    find(driver_version, {"nvmlSystemGetDriverVersion"});
    find(process_name, {"nvmlSystemGetProcessName"});
    find(count, {"nvmlDeviceGetCount_v2"});
    find(by_index, {"nvmlDeviceGetHandleByIndex_v2"});
    find(by_uuid, {"nvmlDeviceGetHandleByUUID"});
    find(of_part, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"});
    find(index, {"nvmlDeviceGetIndex"});
    find(name, {"nvmlDeviceGetName"});
    find(uuid, {"nvmlDeviceGetUUID"});
    find(memory, {"nvmlDeviceGetMemoryInfo"});
    find(capability, {"nvmlDeviceGetCudaComputeCapability"});
    find(clock, {"nvmlDeviceGetClockInfo"});
    find(highest_clock, {"nvmlDeviceGetMaxClockInfo"});
    find(temperature, {"nvmlDeviceGetTemperature"});
    find(power, {"nvmlDeviceGetPowerUsage"});
    find(power_limit, {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"});
    find(energy, {"nvmlDeviceGetTotalEnergyConsumption"});
    find(reasons,
         {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
    find(utilisation, {"nvmlDeviceGetUtilizationRates"});
    find(violation, {"nvmlDeviceGetViolationStatus"});
    find(pci, {"nvmlDeviceGetPciInfo_v3"});
    find(nvlink_state, {"nvmlDeviceGetNvLinkState"});
    find(peer_status, {"nvmlDeviceGetP2PStatus"});
    find(common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
    // Both have one layout; the first version's entries are shorter.
    find(processes,
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  }

  template <class Function>
  void find(Function*& function, std::initializer_list<const char*> names) {
    for (const char* name_of : names) {
      if (function == nullptr && library.has(name_of)) function = &library.get<Function>(name_of);
    }
  }

  boost::dll::shared_library library;
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  Status (*driver_version)(char*, unsigned) = nullptr;
  Status (*process_name)(unsigned, char*, unsigned) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*by_index)(unsigned, Device*) = nullptr;
  Status (*by_uuid)(const char*, Device*) = nullptr;
  Status (*of_part)(Device, Device*) = nullptr;
  Status (*index)(Device, unsigned*) = nullptr;
  Status (*name)(Device, char*, unsigned) = nullptr;
  Status (*uuid)(Device, char*, unsigned) = nullptr;
  Status (*memory)(Device, Memory*) = nullptr;
  Status (*capability)(Device, int*, int*) = nullptr;
  Status (*clock)(Device, unsigned, unsigned*) = nullptr;
  Status (*highest_clock)(Device, unsigned, unsigned*) = nullptr;
  Status (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Status (*power)(Device, unsigned*) = nullptr;
  Status (*power_limit)(Device, unsigned*) = nullptr;
  Status (*energy)(Device, unsigned long long*) = nullptr;
  Status (*reasons)(Device, unsigned long long*) = nullptr;
  Status (*utilisation)(Device, Utilisation*) = nullptr;
  Status (*violation)(Device, unsigned, ViolationTime*) = nullptr;
  Status (*pci)(Device, PciInfo*) = nullptr;
  Status (*nvlink_state)(Device, unsigned, unsigned*) = nullptr;
  Status (*peer_status)(Device, Device, int, int*) = nullptr;
  Status (*common_ancestor)(Device, Device, int*) = nullptr;
  Status (*processes)(Device, unsigned*, Process*) = nullptr;
};

namespace {

template <class Number>
std::optional<double> ask(double unit, Status (*function)(Device, Number*), Device device) {
  Number number = 0;
  if (function == nullptr || function(device, &number) != success) return {};
  return static_cast<double>(number) * unit;
}

std::optional<double> ask(double unit, Status (*function)(Device, unsigned, unsigned*),
                          Device device, unsigned which) {
  unsigned number = 0;
  if (function == nullptr || function(device, which, &number) != success) return {};
  return static_cast<double>(number) * unit;
}

std::string text(Status (*function)(Device, char*, unsigned), Device device) {
  char buffer[text_size] = {};
  if (function == nullptr || function(device, buffer, text_size) != success) return {};
  return buffer;
}

}  // namespace

tl::expected<std::unique_ptr<Nvml>, std::string> Nvml::open(const std::string& library) {
  std::error_code error;
  boost::dll::shared_library opened;
  opened.load(library, boost::dll::load_mode::search_system_folders, error);
  if (error) return tl::unexpected("no NVIDIA driver (" + library + " is not found)");
  // Threads that the driver has started may outlive its shutdown: its code stays.
  ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NODELETE);
  auto functions = std::make_unique<Functions>(std::move(opened));
  if (!functions->init || !functions->shutdown || !functions->count || !functions->by_index) {
    return tl::unexpected("the NVIDIA driver is too old (" + library + " lacks functions)");
  }
  if (functions->init() != success) {
    return tl::unexpected(std::string("the NVIDIA driver does not answer (nvmlInit failed)"));
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {
  unsigned count = 0;
  functions_->count(&count);
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    if (functions_->by_index(index, &device) != success) device = nullptr;
    devices_.push_back(device);
  }
}

Nvml::~Nvml() { functions_->shutdown(); }

std::string Nvml::driver_version() const {
  char version[text_size] = {};
  if (functions_->driver_version) functions_->driver_version(version, text_size);
  return version;
}

std::size_t Nvml::count() const { return devices_.size(); }
std::string Nvml::uuid(Index gpu) const { return text(functions_->uuid, devices_.at(gpu)); }
std::string Nvml::name(Index gpu) const { return text(functions_->name, devices_.at(gpu)); }

std::optional<Nvml::Index> Nvml::owner_of_part(const std::string& uuid) const {
  Device part = nullptr;
  Device whole = nullptr;
  unsigned index = 0;
  const Functions& f = *functions_;
  if (!f.by_uuid || !f.of_part || !f.index || f.by_uuid(uuid.c_str(), &part) != success ||
      f.of_part(part, &whole) != success || f.index(whole, &index) != success) {
    return {};
  }
  return index;
}

std::int64_t Nvml::memory_bytes(Index gpu) const {
  Memory memory = {};
  if (functions_->memory) functions_->memory(devices_.at(gpu), &memory);
  return static_cast<std::int64_t>(memory.total);
}

std::string Nvml::compute_capability(Index gpu) const {
  int major = 0;
  int minor = 0;
  if (functions_->capability) functions_->capability(devices_.at(gpu), &major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::optional<double> Nvml::power_limit_w(Index gpu) const {
  return ask(1e-3, functions_->power_limit, devices_.at(gpu));
}

std::optional<double> Nvml::highest_sm_clock_hz(Index gpu) const {
  return ask(1e6, functions_->highest_clock, devices_.at(gpu), sm_clock);
}

std::string Nvml::pci_address(Index gpu) const {
  PciInfo pci = {};
  if (!functions_->pci || functions_->pci(devices_.at(gpu), &pci) != success) return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

int Nvml::nvlinks(Index gpu) const {
  int up = 0;
  for (unsigned link = 0; functions_->nvlink_state && link < most_nvlinks; ++link) {
    unsigned active = 0;
    const bool known = functions_->nvlink_state(devices_.at(gpu), link, &active) == success;
    up += known && active == 1 ? 1 : 0;
  }
  return up;
}

std::string Nvml::link(Index one, Index other) const {
  const Functions& f = *functions_;
  const Device from = devices_.at(one);
  const Device to = devices_.at(other);
  int status = -1;
  if (f.peer_status && f.peer_status(from, to, over_nvlink, &status) == success && status == 0) {
    return "NVLink";
  }
  int level = -1;
  if (!f.common_ancestor || f.common_ancestor(from, to, &level) != success) return {};
  // nvmlGpuTopologyLevel_t: the nearest ancestor in the tree of the machine's buses.
  static const std::map<int, const char*> words = {{0, "PIX"},  {10, "PIX"},  {20, "PXB"},
                                                   {30, "PHB"}, {40, "NODE"}, {50, "SYS"}};
  const auto word = words.find(level);
  return word == words.end() ? "" : word->second;
}

void Nvml::glance(Index gpu, GpuReading& reading) const {
  const Functions& f = *functions_;
  const Device device = devices_.at(gpu);
  reading.sm_clock_hz = ask(1e6, f.clock, device, sm_clock);
  reading.memory_clock_hz = ask(1e6, f.clock, device, memory_clock);
  reading.temperature_c = ask(1, f.temperature, device, gpu_temperature);
  reading.power_w = ask(1e-3, f.power, device);
  unsigned long long reasons = 0;
  if (f.reasons && f.reasons(device, &reasons) == success) reading.clock_reasons = reasons;
  Utilisation utilisation = {};
  if (f.utilisation && f.utilisation(device, &utilisation) == success) {
    reading.utilisation = utilisation.gpu / 100.0;
  }
}

void Nvml::read_energy(Index gpu, GpuReading& reading) const {
  reading.energy_j = ask(1e-3, functions_->energy, devices_.at(gpu));
}

void Nvml::read_held(Index gpu, GpuReading& reading) const {
  const Functions& f = *functions_;
  const Device device = devices_.at(gpu);
  const auto held_s = [&](unsigned policy) -> std::optional<double> {
    ViolationTime time = {};
    if (!f.violation || f.violation(device, policy, &time) != success) return {};
    return static_cast<double>(time.violation_ns) * 1e-9;
  };
  reading.held_by_power_s = held_s(power_policy);
  reading.held_by_heat_s = held_s(thermal_policy);
}

std::optional<std::vector<GpuProcess>> Nvml::processes(Index gpu) const {
  const Functions& f = *functions_;
  if (!f.processes) return {};
  std::vector<Process> found(32);
  auto count = static_cast<unsigned>(found.size());
  Status status = f.processes(devices_.at(gpu), &count, found.data());
  if (status == insufficient_size) {
    found.resize(count + 8);  // some may have come meanwhile
    count = static_cast<unsigned>(found.size());
    status = f.processes(devices_.at(gpu), &count, found.data());
  }
  if (status != success) return {};
  std::vector<GpuProcess> processes;
  for (const Process& process : std::vector<Process>(found.begin(), found.begin() + count)) {
    char name[256] = {};
    if (f.process_name && f.process_name(process.pid, name, sizeof name) != success) name[0] = 0;
    processes.push_back({static_cast<int>(process.pid), name, GpuProcess::Owner::unknown});
  }
  return processes;
}

}  // namespace assay::health
