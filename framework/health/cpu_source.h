#pragma once

#include "health/process_table.h"
#include "health/source.h"

namespace assay::health {

// The cores this process may run on, through /proc and /sys. Reads frequencies and slowdowns by
// heat thoroughly, and at the edges of a case where each took less than 0.3 ms last time.
class CpuSource : public Source {
 public:
  struct Settings {
    std::string root;        // the folder of /proc and /sys; "" outside tests
    std::vector<int> cores;  // numbers of the usable ones
    int self = 0;            // pid
  };
  static Settings here();

  explicit CpuSource(Settings settings);

  void read(Depth depth, const std::vector<int>& devices, Reading& reading) override;
  std::string subject() const override { return "CPU"; }
  std::string problem() const override;

  // Also the families of these processes, in place of those so far. Not while it is read.
  void count_as_ours(std::vector<int> pids) { processes_.count_as_ours(std::move(pids)); }

  int cores() const { return static_cast<int>(settings_.cores.size()); }
  double quota_cores() const { return quota_cores_; }  // time of so many cores, at most
  std::string governor() const;                        // "performance", …; "": unknown

 private:
  std::string proc(const std::string& file) const { return settings_.root + "/proc/" + file; }
  std::string core_folder(int core) const;
  double find_quota() const;
  void read_work(CpuReading& cpu, bool thorough);
  void read_quota(CpuReading& cpu) const;
  void read_frequencies(CpuReading& cpu) const;
  void read_frequencies_of_cpuinfo(CpuReading& cpu) const;
  void read_thermal_events(CpuReading& cpu) const;

  Settings settings_;
  ProcessTable processes_;
  std::string control_group_;  // folder with cpu.stat, or ""
  double quota_cores_;
  double frequencies_took_s_ = 0;
  double thermal_events_took_s_ = 0;
};

}  // namespace assay::health
