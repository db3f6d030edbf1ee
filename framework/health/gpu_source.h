#pragma once

#include <memory>

#include "health/nvml.h"
#include "health/process_table.h"
#include "health/source.h"

namespace assay::health {

struct Gpu {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"
  std::string uuid;                // "GPU-…"; "": unknown
};

// Where a GPU sits in its machine.
struct GpuPlace {
  std::string pci_address;        // "0000:1b:00.0"
  int nvlinks = 0;                // that are up
  std::vector<std::string> ways;  // to each device (Nvml::link()); "" to itself
};

// The GPUs that CUDA may use in this process's environment, through NVML.
class GpuSource : public Source {
 public:
  struct Settings {
    std::string library = "libnvidia-ml.so.1";
    const char* visible = nullptr;  // CUDA_VISIBLE_DEVICES
    ProcessTable processes;
  };
  static Settings here();

  explicit GpuSource(const Settings& settings);

  void read(Depth depth, const std::vector<int>& devices, Reading& reading) override;
  std::string subject() const override { return "GPU"; }
  std::string problem() const override { return problem_; }

  // As CpuSource::count_as_ours().
  void count_as_ours(std::vector<int> pids) { processes_.count_as_ours(std::move(pids)); }

  const std::vector<Gpu>& gpus() const { return gpus_; }
  const std::string& driver() const { return driver_; }
  GpuPlace place_of(int device) const;
  std::optional<double> power_limit_w(int device) const;
  std::optional<double> highest_sm_clock_hz(int device) const;

 private:
  void tell_owners(std::vector<GpuProcess>& processes) const;

  std::unique_ptr<Nvml> nvml_;
  ProcessTable processes_;
  std::vector<Nvml::Index> indices_;  // by CUDA's number
  std::vector<Gpu> gpus_;
  std::string driver_;
  std::string problem_;
};

}  // namespace assay::health
