#pragma once

#include <assay/plugin.h>
#include <assay/record.h>
#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace assay {

class ObservedPassBoundary;

// One pass of a case, as an observer calls it. Valid within observe(). Functions throw
// PluginFailure where the program throws.
class ObservedPass {
 public:
  explicit ObservedPass(ObservedPassBoundary& boundary) : boundary_(&boundary) {}

  const std::string& pass() const;
  at::Device device() const;
  int rank() const;
  // Calls of step() that the experiment allows, at least 1.
  int steps() const;
  // A fresh program, in place of the timed one: sets it up anew, under observation. Once, and only
  // where fresh() is true.
  void build() const;
  // One call of the pass, as it was timed; returns when its work on the device is done. Its time is
  // recorded as `observed_time`. Throws PluginFailure beyond steps().
  void step() const;

 private:
  ObservedPassBoundary* boundary_;
};

// Looks at further steps of any workload's pass after all passes have been timed: a profiler, a
// memory study. The worker is replaced afterwards, so an observer may leave hooks behind. Optional
// member: `static std::vector<MetricInfo> metrics()`, what it records beside `observed_time`.
class Observer {
 public:
  static constexpr const char* kind = "observer";

  virtual ~Observer() = default;
  // Whether it wants a program built under observation, with its first call, rather than the timed
  // program, which is warm.
  virtual bool fresh() const { return false; }
  // Calls `observed` and records what it sees, on every rank alike. Throws Unsupported where it
  // cannot observe the pass.
  virtual void observe(const ObservedPass& observed, Recorder& recorder) = 0;
};

}  // namespace assay

#include <assay/detail/observer.h>
