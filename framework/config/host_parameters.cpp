#include "config/host_parameters.h"

#include <algorithm>

namespace assay::config {
namespace {

ParameterInfo timeout_parameter() {
  ParameterInfo info;
  info.name = "measure.timeout";
  info.type = ParameterType::duration;
  info.default_value = 600.0;
  info.description = "Time a case may take before it is stopped.";
  info.unit = "s";
  info.minimum = 0.001;
  info.maximum = 7 * 24 * 3600.0;
  return info;
}

// Without a default: a case has no machine unless the experiment names one.
ParameterInfo machine_parameter() {
  ParameterInfo info;
  info.name = "machine";
  info.type = ParameterType::text;
  info.description = "Name of the machine, to tell runs of several machines apart in one report.";
  return info;
}

}  // namespace

const std::vector<ParameterInfo>& host_parameters() {
  static const std::vector<ParameterInfo> parameters = {
      integer_parameter("world_size", 1, 1, 4096, "Number of ranks that run the case together."),
      integer_parameter("nodes", 1, 1, 4096, "Number of machines the ranks are spread over."),
      choice_parameter("device", "auto", {"auto", "cpu", "cuda"},
                       "Where tensors live; auto takes a GPU where there is one."),
      choice_parameter("backend", "auto", {"auto", "none", "gloo", "nccl"},
                       "Transport of collectives; auto goes by device and world_size."),
      integer_parameter("repeat", 0, 0, 1000,
                        "Number of the repetition: [0, 1, 2] measures every case three times."),
      machine_parameter(),
      integer_parameter("measure.warmup", 5, 0, 10000, "Calls before the first sample."),
      integer_parameter("measure.samples", 10, 1, 1000000, "Samples taken of each pass."),
      choice_parameter("measure.clock", "auto", {"auto", "wall", "cuda_event", "cuda_graph"},
                       "What takes the time: wall includes the host's part, cuda_event is device "
                       "time, cuda_graph times replays of the captured call."),
      integer_parameter("measure.calls_per_sample", 1, 1, 1000000,
                        "Calls that one sample is the sum of."),
      choice_parameter("measure.isolation", "shared", {"shared", "case"},
                       "Whether workers serve case after case, or each case gets fresh ones, whose "
                       "first calls are cold."),
      choice_parameter("measure.unhealthy", "mark", {"mark", "retry", "discard"},
                       "What becomes of a case that was measured while the machine was not fit for "
                       "it: its times are marked, it is measured again (three times at most, the "
                       "best is kept), or its times are kept out of reports."),
      timeout_parameter(),
      integer_parameter("measure.seed", 0, 0, 4294967295.0,
                        "Seed of the random numbers a case is made from."),
  };
  return parameters;
}

const ParameterInfo* find_host_parameter(std::string_view name) {
  const std::vector<ParameterInfo>& parameters = host_parameters();
  const auto found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const ParameterInfo& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

}  // namespace assay::config
