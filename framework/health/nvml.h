#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "health/reading.h"

namespace assay::health {

// NVIDIA's management library, opened while the program runs, so that a machine without a driver
// needs nothing of it. Only reads; changes no setting. Not for several threads at once.
class Nvml {
 public:
  // A GPU as NVML counts them: in the order of the PCI bus, whether CUDA may use it or not.
  using Index = unsigned;

  // The error says why no GPU can be seen.
  static tl::expected<std::unique_ptr<Nvml>, std::string> open(
      const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  std::size_t count() const;
  std::string uuid(Index gpu) const;
  // The GPU that a part ("MIG-…") belongs to.
  std::optional<Index> owner_of_part(const std::string& uuid) const;

  std::string name(Index gpu) const;
  std::int64_t memory_bytes(Index gpu) const;
  std::string compute_capability(Index gpu) const;  // "9.0"
  std::optional<double> power_limit_w(Index gpu) const;
  std::optional<double> highest_sm_clock_hz(Index gpu) const;

  // What the depths of health/source.h read: a glance; at an edge also the energy; thoroughly also
  // how long the clocks were held down, and processes, which have the names NVML gives them.
  void glance(Index gpu, GpuReading& reading) const;
  void read_energy(Index gpu, GpuReading& reading) const;
  // Milliseconds on some drivers.
  void read_held(Index gpu, GpuReading& reading) const;
  std::optional<std::vector<GpuProcess>> processes(Index gpu) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
  std::vector<void*> devices_;
};

}  // namespace assay::health
