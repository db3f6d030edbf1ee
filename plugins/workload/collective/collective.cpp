#include <assay/reference.h>
#include <assay/workload.h>
#include <fmt/format.h>

#include "workload/collective/lone.h"
#include "workload/collective/program.h"

namespace assay {

namespace {

std::vector<std::string> all_passes() {
  std::vector<std::string> names;
  for (const auto& operation : collective::operations()) names.push_back(operation.name);
  return names;
}

// "size * if(pass == all_reduce, 2 * (world_size - 1) / world_size, …)"
std::string bus_formula() {
  std::string factor = "1";
  for (const auto& operation : collective::operations()) {
    if (std::string_view(operation.formula) == "1") continue;
    factor = fmt::format("if(pass == {}, {}, {})", operation.name, operation.formula, factor);
  }
  return "size * " + factor;
}

ParameterInfo bytes_parameter(std::string name, std::int64_t value, std::int64_t least,
                              std::string description) {
  ParameterInfo parameter;
  parameter.name = std::move(name);
  parameter.type = ParameterType::size;
  parameter.default_value = value;
  parameter.description = std::move(description);
  parameter.unit = "byte";
  parameter.minimum = static_cast<double>(least);
  parameter.maximum = static_cast<double>(std::int64_t{1} << 40);
  return parameter;
}

constexpr std::int64_t default_calls = 20;

class CollectiveWorkload final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        bytes_parameter("size", std::int64_t{1} << 20, 4,
                        "Bytes of the whole: the data reduced or sent, an all-gather's result, a "
                        "rank's input to a reduce-scatter or all-to-all. Rounded down to equal "
                        "shares of the ranks where they share it."),
        // Cases name these two also at their defaults: results without them timed something else,
        // the ranks' arrival.
        choice_parameter(
            "placement", "auto", {"auto", "in_place", "out_of_place"},
            "Whether a call writes over its input. auto: as c10d does, in place for all_reduce, "
            "broadcast and reduce, and out of place for the others."),
        choice_parameter("layer", "c10d", {"c10d", "c10d_async", "nccl"},
                         "Who is called: c10d on the caller's stream, as torch.distributed does by "
                         "default; c10d on NCCL's stream, as overlapped training does; or NCCL's "
                         "own functions."),
        left_out_at_default(
            choice_parameter("dtype", "fp32", {"fp32", "fp16", "bf16"}, "Dtype of the elements.")),
        left_out_at_default(integer_parameter(
            "calls", default_calls, 0, 100'000,
            "Calls in a row, whose mean is one sample (-n of nccl-tests); fewer where their "
            "buffers would take more than 1 GiB. 0: each call is timed alone, from a barrier on.")),
        left_out_at_default(integer_parameter("lone_calls", 200, 0, 100'000,
                                              "Further calls, each from a common start, for "
                                              "latency and skew; at least 5, and no more "
                                              "than take a second. 0: none.")),
        left_out_at_default(bytes_parameter(
            "span", 0, 0,
            "Bytes of the buffers through which the calls of a row move on, as nccl-tests does "
            "below the largest size of its sweep. Up to `size`: all use the same. 0: each has its "
            "own.")),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = all_passes();
    info.default_passes = {"all_reduce"};
    info.metrics = {
        {"bytes", "byte", Direction::neither,
         "Size of the whole; divided by time, the algorithm's bandwidth.", "size"},
        {"bus_bytes", "byte", Direction::neither,
         "Bytes that must cross each rank's wire; divided by time, the bus bandwidth.",
         bus_formula()},
    };
    for (MetricInfo& metric : collective::lone_metrics()) info.metrics.push_back(std::move(metric));
    return info;
  }

  static std::string memory_estimate() {
    // A case does not hold `calls` at its default.
    return fmt::format(
        "if(placement == in_place, 1, 2) * max(size, if(span > 0, span, min(size * if(calls == 0, "
        "1, if(calls > 0, calls, {})), {})))",
        default_calls, collective::most_bytes_of_a_row);
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<collective::CollectiveProgram>(
        context, collective::settings_of(context), layer(context));
  }

  // Checks every element on every rank, in a call of its own. All ranks must verify together.
  Verification verify(const CaseContext& context, const std::string& pass) override {
    collective::Settings settings = collective::settings_of(context);
    settings.calls_in_a_row = 0;
    settings.span_bytes = 0;
    collective::CollectiveProgram program(context, settings, layer(context));
    program.before(pass);
    program.run(pass);
    Verification verification;
    program.compare(pass, verification);
    return verification;
  }

 private:
  // A communicator is costly to make, so that the case's programs share it.
  std::shared_ptr<collective::Layer> layer(const CaseContext& context) {
    if (layer_) return layer_;
    if (!context.group.backend) {
      throw Unsupported("a collective needs two ranks or more (world_size)");
    }
    const std::string name = text_option(context.parameters, "layer");
    layer_ = name == "nccl"
                 ? collective::nccl_layer(context.group, context.device)
                 : collective::c10d_layer(context.group, context.device, name == "c10d_async");
    return layer_;
  }

  std::shared_ptr<collective::Layer> layer_;
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::CollectiveWorkload, "collective",
             "One collective over the ranks: by c10d over NCCL or Gloo, or NCCL itself.")
