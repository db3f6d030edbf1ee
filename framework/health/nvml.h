#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "health/reading.h"

namespace assay::health {

// NVIDIA's management library, opened at run time. Reads only. One thread at a time.
class Nvml {
 public:
  // Counts all GPUs in the order of the PCI bus, hidden from CUDA or not.
  using Index = unsigned;

  // The error says why there are no GPUs.
  static tl::expected<std::unique_ptr<Nvml>, std::string> open(
      const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  std::size_t count() const;
  std::string uuid(Index gpu) const;
  // The GPU of a part ("MIG-…").
  std::optional<Index> owner_of_part(const std::string& uuid) const;

  std::string name(Index gpu) const;
  std::int64_t memory_bytes(Index gpu) const;
  std::string compute_capability(Index gpu) const;  // "9.0"
  std::optional<double> power_limit_w(Index gpu) const;
  std::optional<double> highest_sm_clock_hz(Index gpu) const;
  std::string pci_address(Index gpu) const;  // "0000:1b:00.0"; "" where the driver does not say
  int nvlinks(Index gpu) const;              // that are up
  // How two GPUs reach each other: "NVLink", else over PCI Express in nvidia-smi's words, from near
  // to far: "PIX", "PXB", "PHB", "NODE", "SYS"; "" where the driver does not say.
  std::string link(Index one, Index other) const;

  // By the depths of health/source.h: a glance; an edge adds the energy; a thorough reading adds
  // how long the clocks were held down, and processes with NVML's names.
  void glance(Index gpu, GpuReading& reading) const;
  void read_energy(Index gpu, GpuReading& reading) const;
  // Takes milliseconds on some drivers.
  void read_held(Index gpu, GpuReading& reading) const;
  std::optional<std::vector<GpuProcess>> processes(Index gpu) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
  std::vector<void*> devices_;
};

}  // namespace assay::health
