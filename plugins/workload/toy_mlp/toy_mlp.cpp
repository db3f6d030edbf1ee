#include <assay/communication.h>
#include <assay/compile.h>
#include <assay/reference.h>
#include <assay/workload.h>

#include "model/operation_program.h"
#include "toy_program.h"
#include "training/mean_of_ranks.h"

namespace assay::toy_mlp {

namespace {

constexpr std::int64_t largest_verified_width = 256;
constexpr int optimizer_steps = 3;
// Gradients are small differences of large numbers, and AdamW follows their signs.
constexpr double allowance = 10;

Shape shape_of(const CaseContext& context) {
  return {integer_option(context.parameters, "width"), integer_option(context.parameters, "batch")};
}

// With the same model in float64, whose gradients are the ranks' mean by definition.
Verification compare(const CaseContext& context, const std::string& pass, const Shape& shape) {
  auto owned = std::make_unique<ToyProgram>(context, shape);
  ToyProgram& program = *owned;
  const auto initial = program.whole_parameters();
  detail::ProgramGuard boundary(std::move(owned));
  Step step = model::launched(context, boundary, pass);
  program.restart_from(initial);  // preparing may already have trained

  CaseContext plain;
  plain.group = context.group;
  plain.mesh = context.mesh;
  plain.device = context.device;
  plain.parameters = context.parameters;
  plain.seed = context.seed;
  plain.ops = reference::operations(/*norm_has_bias=*/false);
  plain.precision.parameters = at::kDouble;
  detail::CommunicationGuard mean(std::make_unique<training::MeanOfRanks>());
  const bool travels = context.communication && context.group.size > 1 &&
                       context.communication.traits().synchronizes;
  if (travels) plain.communication = &mean;
  ToyProgram reference(plain, shape);
  reference.restart_from(initial);

  Verification found;
  const double tolerance = reference::tolerance(context.precision);
  const int steps = pass == "train_step" ? optimizer_steps : 1;
  for (int i = 0; i < steps; ++i) {
    step.before();
    step.run();
    const auto values = program.whole_outputs(pass);
    reference.before(pass);
    reference.run(pass);
    const auto expected = reference.outputs(pass);
    if (i == 0) reference::compare_all(found, values, expected, tolerance, allowance);
    reference::compare(found, "loss of step " + std::to_string(i + 1), values.front().tensor,
                       expected.front().tensor, allowance * tolerance);
  }
  return found;
}

class ToyMlp final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {integer_parameter("width", 50, 1, 1 << 16, "Width of both hidden layers."),
            integer_parameter("batch", 32, 1, 1 << 20, "Examples in a batch, on each rank.")};
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"forward", "backward", "forward_backward", "train_step"};
    info.default_passes = {"backward"};
    info.uses = {"precision", "communication", "compile"};
    info.metrics = {{"parameters", "count", Direction::neither, "Parameters of the model."},
                    {"flops", "FLOP", Direction::neither,
                     "Operations of the pass's matrix products, a multiply-add counted as two; the "
                     "first needs no gradient of its input.",
                     "2 * batch * ((runs_forward + 2 * runs_backward) * (width^2 + 15 * width) - "
                     "runs_backward * 10 * width)"}};
    for (MetricInfo& sent : training::TrainingStep::metrics())
      info.metrics.push_back(std::move(sent));
    info.default_clock = "wall";
    return info;
  }

  // Bytes: parameters, gradients and two moments in fp32, and what the layers keep.
  static std::string memory_estimate() {
    return "4 * 4 * (width^2 + 15 * width) + 4 * batch * 4 * width";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<ToyProgram>(context, shape_of(context));
  }

  Verification verify(const CaseContext& context, const std::string& pass) override {
    CaseContext here = context;
    if (!here.communication) here.group = {};
    Shape shape = shape_of(context);
    shape.width = std::min(shape.width, largest_verified_width);
    return compare(here, pass, shape);
  }
};

}  // namespace

}  // namespace assay::toy_mlp

ASSAY_PLUGIN(assay::toy_mlp::ToyMlp, "toy_mlp",
             "A training step of an MLP with two hidden layers, to compare ways of communicating.")
