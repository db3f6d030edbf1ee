#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/process/guards.h"
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
  // The same, without LibTorch's operators: fast enough to be asked after each pass.
  std::string code_tampered() const;

 private:
  Operators operators_;
  OwnCode code_;
  SignalHandlers handlers_;
};

// What a case leaves in its process, by the mark it gets (docs/measuring.md): `settings`,
// `threads`.
class StateWatch {
 public:
  struct Plan {
    c10::Device device = c10::Device(c10::kCPU);
    std::vector<std::string> files;  // the libraries of the case's plugins
    std::string made_by;             // in words, for reasons
    // What of the code that all cases share has been changed, for people; "" for nothing.
    std::function<std::string()> tampered;
  };
  // Before the case's plugins are made.
  explicit StateWatch(Plan plan);

  // The settings that assay itself makes for the case are as now.
  void expect_numeric_settings();
  // What libraries put into the environment as they start is there now, and stays. Before that
  // nobody can tell it from what a plugin sets.
  void expect_library_variables();
  // Once the case is released.
  std::map<std::string, std::string> left_behind() const;

  // What still works on the plugins' behalf directly after a call has ended, for people: threads,
  // processes, changed code, handlers of signals; "" for nothing.
  std::string work_after_a_call() const;
  // The same of the device's other streams, which worked for so long (measure/device.h).
  std::string device_work_after_a_call(double other_streams_s) const;

 private:
  ProcessSettings settings_now() const;
  ThreadTimes new_threads() const;
  std::string working_threads() const;

  Plan plan_;
  PluginThreads threads_;
  ThreadTimes before_;
  bool libraries_have_started_ = false;
  ProcessSettings settings_;
};

}  // namespace assay::worker
