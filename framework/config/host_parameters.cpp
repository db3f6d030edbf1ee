#include "config/host_parameters.h"

#include <algorithm>

namespace assay::config {
namespace {

ParameterInfo duration_parameter(std::string name, double default_s, std::string description) {
  ParameterInfo info;
  info.name = std::move(name);
  info.type = ParameterType::duration;
  info.default_value = default_s;
  info.description = std::move(description);
  info.unit = "s";
  info.minimum = 0.001;
  info.maximum = 7 * 24 * 3600.0;
  return info;
}

ParameterInfo target_parameter() {
  ParameterInfo info = real_parameter(
      "measure.target", 0, 0, 1,
      "Sampling stops once the median is known this well: the distance to the farther end of its "
      "95 % interval, as a share of the median. 0 takes exactly measure.samples.");
  info.unit = std::string(share_unit);
  return info;
}

ParameterInfo interleave_parameter() {
  ParameterInfo info;
  info.name = std::string(interleave_setting);
  info.type = ParameterType::text;
  info.default_value = std::string();
  info.description =
      "Name of an axis: cases that differ only in it take turns with blocks of samples; empty: "
      "each "
      "case is measured on its own.";
  return info;
}

ParameterInfo observe_parameter() {
  ParameterInfo info;
  info.name = std::string(observe_setting);
  info.type = ParameterType::text;
  info.default_value = std::string();
  info.description =
      "Observers that look at further steps of every pass after it has been timed, such as "
      "`[kernels, memory]`.";
  return info;
}

ParameterInfo artefact_limit_parameter() {
  ParameterInfo info = integer_parameter(
      "measure.artefact_limit", artefact_limit_bytes, 0, 1e12,
      "Bytes that the files a case leaves on one rank may have together, such as 256 MiB.");
  info.type = ParameterType::size;
  info.unit = "byte";
  return info;
}

// Without a default: only the experiment can name a machine.
ParameterInfo machine_parameter() {
  ParameterInfo info;
  info.name = "machine";
  info.type = ParameterType::text;
  info.description = "Name of the machine, for reports on several machines.";
  return info;
}

}  // namespace

const std::vector<ParameterInfo>& host_parameters() {
  static const std::vector<ParameterInfo> parameters = {
      integer_parameter("world_size", 1, 1, 4096, "Number of ranks that run the case together."),
      integer_parameter("nodes", 1, 1, 4096, "Number of machines the ranks are spread over."),
      choice_parameter("device", "auto", {"auto", "cpu", "cuda"},
                       "Where tensors live; auto takes a GPU if there is one."),
      choice_parameter("backend", "auto", {"auto", "none", "gloo", "nccl"},
                       "Transport of collectives; auto follows from device and world_size."),
      integer_parameter("repeat", 0, 0, 1000,
                        "Number of the repetition: [0, 1, 2] measures every case three times."),
      machine_parameter(),
      integer_parameter("measure.warmup", 5, 0, 10000, "Calls before the first sample."),
      integer_parameter("measure.samples", 10, 1, 1000000, "Samples taken of each pass."),
      target_parameter(),
      integer_parameter("measure.min_samples", 10, 1, 1000000,
                        "Samples before measure.target can stop sampling."),
      integer_parameter("measure.max_samples", 1000, 1, 1000000,
                        "Samples at most, if measure.target is not reached."),
      duration_parameter("measure.max_time", 10,
                         "Time for the samples of a pass, if measure.target is not reached."),
      choice_parameter("measure.clock", "auto", {"auto", "wall", "cuda_event", "cuda_graph"},
                       "The clock: wall includes the host's part, cuda_event is device time, "
                       "cuda_graph times replays of the captured call."),
      choice_parameter("measure.cache", "warm", {"warm", "flush", "rotate"},
                       "State of the last-level cache before a timed call: as the call before left "
                       "it (warm), without the call's data (flush), or as calls on other copies of "
                       "its inputs left it (rotate)."),
      integer_parameter("measure.calls_per_sample", 1, 1, 1000000,
                        "Calls that one sample adds up."),
      choice_parameter("measure.isolation", "shared", {"shared", "case", "pass"},
                       "Who gets fresh workers, whose first call is cold: nobody (shared), each "
                       "case, or each pass of a case."),
      duration_parameter("measure.timeout", 600,
                         "Time limit of a case, after which it is stopped."),
      choice_parameter("measure.unhealthy", "mark", {"mark", "retry", "discard"},
                       "What happens to a case measured on an unhealthy machine: its times are "
                       "marked (mark), it is measured again, three times at most, and the best is "
                       "kept (retry), or reports omit its times (discard)."),
      left_out_at_default(choice_parameter(
          "measure.integrity", "fast", {"fast", "full"},
          "How closely timed calls are looked at: each starts from inputs of its own, of which an "
          "element in 4 KiB is new (fast) or all (full), and three calls (fast) or one in ten "
          "(full) are compared with the reference.")),
      left_out_at_default(
          boolean_parameter("measure.phases", false,
                            "Whether the phases of a step are timed within its timed calls, and "
                            "their memory and spans are taken in a call of their own.")),
      left_out_at_default(observe_parameter()),
      left_out_at_default(integer_parameter("measure.observed_steps", 3, 1, 1000,
                                            "Steps that each observer looks at, at most.")),
      left_out_at_default(artefact_limit_parameter()),
      integer_parameter("measure.seed", 0, 0, 4294967295.0, "Seed of a case's random numbers."),
      interleave_parameter(),
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
