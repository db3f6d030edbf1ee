#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events.h"
#include "intervals.h"

namespace assay::kernels {

// Times in seconds and counts of a step, on average.
struct Kernel {
  std::string name;
  std::string family;
  double calls = 0;
  double s = 0;
};

struct OfClass {
  std::string name;
  double calls = 0;
  double s = 0;
  double flops = 0;
};

struct Operator {
  std::string name;
  double calls = 0;
  double self_cpu_s = 0;
  double cpu_s = 0;  // with callees; of recursive calls the outermost
  double self_device_s = 0;
  double device_s = 0;
};

struct RangeTotal {
  std::string name;
  double calls = 0;  // entered in the step: none of a backward alone
  double s = 0;      // of the device work below it, in forward and backward
  double flops = 0;  // of the operators below it
};

struct StackTotal {
  std::vector<std::string> frames;
  double s = 0;
};

struct StepTimes {
  double host_s = 0;  // of the calls, with the wait for their end
  double span_s = 0;
  double busy_s = 0;
  double idle_host_s = 0;
  double idle_kernel_s = 0;
  double idle_other_s = 0;
};

// Kernels are what the device ran, or on a CPU the operators by their own time.
struct Profile {
  bool on_device = false;
  bool cut = false;  // the last step is seen in part
  std::vector<StepTimes> steps;
  double work_s = 0;             // of all kernels
  double flops = 0;              // of all operators
  std::vector<Kernel> kernels;   // these by time, longest first
  std::vector<OfClass> classes;  // all of classes(), in their order
  std::vector<RangeTotal> ranges;
  std::vector<Operator> operators;
  std::vector<StackTotal> range_stacks;  // frames are ranges
  std::vector<StackTotal> stacks;        // ranges, operators, and on a device the kernel
  std::optional<double> overlap;  // of communication with other work, 0 to 1; none without any
};

struct ProfileSettings {
  // The first step pays for the profiler's own set-up.
  bool leave_first_step_out = true;
  // Longest gap between two kernels of which the second had been launched before, in nanoseconds.
  Nanoseconds handover = 5000;
};

Profile profile_of(const Events& events, const ProfileSettings& settings = {});

}  // namespace assay::kernels
