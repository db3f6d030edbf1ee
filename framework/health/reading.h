#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::health {

struct GpuProcess {
  // unknown: the driver may list processes of other containers under numbers of their own.
  enum class Owner { us, others, unknown };

  int pid = 0;
  std::string name;  // "": unknown
  Owner owner = Owner::unknown;
};

// Reasons for low clocks of a GPU: the bits of nvmlClocksEventReasons (nvml.h).
namespace clock_reason {
inline constexpr std::uint64_t idle = 0x1;
inline constexpr std::uint64_t application_clocks = 0x2;
inline constexpr std::uint64_t power_cap = 0x4;
inline constexpr std::uint64_t hardware_slowdown = 0x8;  // thermal, power brake or both
inline constexpr std::uint64_t sync_boost = 0x10;
inline constexpr std::uint64_t software_thermal = 0x20;
inline constexpr std::uint64_t hardware_thermal = 0x40;
inline constexpr std::uint64_t power_brake = 0x80;
inline constexpr std::uint64_t display_clocks = 0x100;
}  // namespace clock_reason

// A figure is absent where the driver does not tell it.
struct GpuReading {
  int device = 0;  // as CUDA counts them in this environment
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> utilisation;           // 0 to 1, over about the last second
  std::optional<std::uint64_t> clock_reasons;  // bits of clock_reason
  // The next three count from the driver's start.
  std::optional<double> energy_j;
  std::optional<double> held_by_power_s;  // time with clocks held down by the power limit
  std::optional<double> held_by_heat_s;
  std::optional<std::vector<GpuProcess>> processes;
};

// The cores this process may run on.
struct CpuReading {
  // Seconds of work since some fixed moment, summed over cores.
  std::optional<double> busy_s;    // by all programs
  std::optional<double> stolen_s;  // lost: the hypervisor served others
  std::optional<double> own_s;     // by this process and its descendants, ended ones included
  std::optional<double> load;      // mean number of threads that want a core, over a minute
  std::optional<int> runnable;     // threads that want one now, on the whole machine
  std::optional<double> lowest_hz;
  std::optional<double> highest_hz;
  std::optional<std::int64_t> thermal_events;  // slowdowns of cores by heat
  std::optional<double> quota_s;               // time stopped by the control group's quota
};

struct Reading {
  double time_s = 0;  // on a monotonic clock
  std::vector<GpuReading> gpus;
  std::optional<CpuReading> cpu;
};

}  // namespace assay::health
