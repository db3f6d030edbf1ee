#pragma once

#include <vector>

// The fake library's answers; fake_nvml() of the loaded library returns its own.
struct FakeProcess {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};

struct FakeGpu {
  const char* name = "Fake H200";
  const char* uuid = "GPU-aaaa";
  unsigned sm_mhz = 1980, memory_mhz = 2619, celsius = 41, milliwatts = 512345;
  unsigned long long millijoules = 1000, reasons = 0, held_by_power_ns = 0, held_by_heat_ns = 0;
  unsigned busy_percent = 87;
  unsigned pci_bus = 0x1b, nvlinks = 0;  // GPUs with links reach each other over them
  std::vector<FakeProcess> processes;
};

struct FakeNvml {
  bool starts = true;
  std::vector<FakeGpu> gpus = {FakeGpu()};
  int open = 0;  // nvmlInit less nvmlShutdown
};
