// A library with the used symbols of NVIDIA's libnvidia-ml.so.1, of two ages.
#include "fake_nvml.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr int ok = 0, invalid_argument = 2, not_supported = 3, not_found = 6, too_small = 7;

FakeNvml& state() {
  static FakeNvml one = [] {
    FakeNvml made;
    if (const char* reasons = std::getenv("FAKE_NVML_REASONS")) {
      made.gpus[0].reasons = std::strtoull(reasons, nullptr, 0);
    }
    return made;
  }();
  return one;
}

FakeGpu& gpu(void* device) { return *static_cast<FakeGpu*>(device); }

int give(const char* text, char* buffer, unsigned size) {
  std::strncpy(buffer, text, size - 1);
  return ok;
}

}  // namespace

extern "C" {

struct FakeMemory {
  unsigned long long total, free, used;
};
struct FakePci {
  char legacy_address[16];
  unsigned domain, bus, device, ids, subsystem_ids;
  char address[32];
};
struct FakeUtilisation {
  unsigned gpu, memory;
};
struct FakeViolation {
  unsigned long long reference_us, violation_ns;
};

FakeNvml* fake_nvml() { return &state(); }

// Starts a thread, as a driver may.
int nvmlInit_v2() {
  if (!state().starts) return 999;
  if (std::getenv("FAKE_NVML_THREAD") != nullptr) std::thread([] { ::pause(); }).detach();
  ++state().open;
  return ok;
}
int nvmlShutdown() {
  --state().open;
  return ok;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return give("580.1", text, size); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(state().gpus.size());
  return ok;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &state().gpus.at(index);
  return ok;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  return give(gpu(device).name, text, size);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return give(gpu(device).uuid, text, size);
}
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* memory) {
  memory->total = 150ull << 30;
  return ok;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return ok;
}
int nvmlDeviceGetClockInfo(void* device, unsigned which, unsigned* mhz) {
  *mhz = which == 1 ? gpu(device).sm_mhz : gpu(device).memory_mhz;
  return which == 1 || which == 2 ? ok : invalid_argument;
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = gpu(device).celsius;
  return sensor == 0 ? ok : invalid_argument;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = gpu(device).milliwatts;
  return ok;
}

#ifdef FAKE_NVML_OLD

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = gpu(device).reasons;
  return ok;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long*) { return not_supported; }

#else

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = gpu(device).reasons;
  return ok;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = gpu(device).millijoules;
  return ok;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, "MIG-1") != 0) return not_found;
  *device = &state();
  return ok;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* part, void** device) {
  if (part != &state()) return invalid_argument;
  *device = &state().gpus.back();
  return ok;
}
int nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(&gpu(device) - state().gpus.data());
  return ok;
}
int nvmlSystemGetProcessName(unsigned, char* name, unsigned size) {
  return give("/opt/driver/knows", name, size);
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned, unsigned* mhz) {
  *mhz = 1980;
  return ok;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return ok;
}
int nvmlDeviceGetUtilizationRates(void* device, FakeUtilisation* rates) {
  rates->gpu = gpu(device).busy_percent;
  return ok;
}
int nvmlDeviceGetViolationStatus(void* device, unsigned policy, FakeViolation* time) {
  time->violation_ns = policy == 0 ? gpu(device).held_by_power_ns : gpu(device).held_by_heat_ns;
  return ok;
}
int nvmlDeviceGetPciInfo_v3(void* device, FakePci* pci) {
  pci->domain = 0;
  pci->bus = gpu(device).pci_bus;
  pci->device = 0;
  return ok;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (link >= 18) return invalid_argument;
  *active = link < gpu(device).nvlinks ? 1 : 0;
  return ok;
}
int nvmlDeviceGetP2PStatus(void* one, void* other, int ability, int* status) {
  const bool linked = gpu(one).nvlinks > 0 && gpu(other).nvlinks > 0;
  *status = ability == 2 && linked ? 0 : 5;
  return ok;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  *level = 50;
  return ok;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, FakeProcess* list) {
  const std::vector<FakeProcess>& all = gpu(device).processes;
  const unsigned room = *count;
  *count = static_cast<unsigned>(all.size());
  if (room < all.size()) return too_small;
  std::memcpy(list, all.data(), all.size() * sizeof(FakeProcess));
  return ok;
}

#endif
}
