#pragma once

#include <c10/core/Device.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/process/operators.h"
#include "worker/process/own_code.h"
#include "worker/process/plugin_threads.h"
#include "worker/process/process_settings.h"

namespace assay::worker {

// What all of a worker's cases share and no plugin may write to. Made before the first plugin's
// library is loaded.
class SharedCode {
 public:
  // What a plugin has changed since then: "the operator aten::mm of LibTorch leads elsewhere"; ""
  // for nothing.
  std::string tampered() const;

 private:
  Operators operators_;
  OwnCode code_;
};

// What a case leaves in its process, by the mark it gets (docs/measuring.md): `settings`,
// `threads`.
class StateWatch {
 public:
  // Before the case's plugins are made. files: their libraries. made_by: in words, for reasons.
  StateWatch(const c10::Device& device, const std::vector<std::string>& files, std::string made_by);

  // The settings that assay itself makes for the case are as now.
  void expect_numeric_settings();
  // Once the case is released.
  std::map<std::string, std::string> left_behind() const;

  // What still works on the plugins' behalf directly after a call has ended, for people: threads,
  // processes, memory that is filled when it is read; "" for nothing.
  std::string work_after_a_call() const;
  // The same of the device's other streams, which worked for so long (measure/device.h).
  std::string device_work_after_a_call(double other_streams_s) const;

 private:
  ThreadTimes new_threads() const;
  std::string working_threads() const;

  c10::Device device_;
  std::vector<std::string> files_;
  PluginThreads threads_;
  std::string made_by_;
  ThreadTimes before_;
  ProcessSettings settings_;
};

}  // namespace assay::worker
