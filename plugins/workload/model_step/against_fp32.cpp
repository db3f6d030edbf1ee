#include "against_fp32.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <assay/reference.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "model/numeric_modes.h"

namespace assay::model_step {

namespace {

CaseContext in_fp32(const CaseContext& context) {
  CaseContext plain;
  plain.device = context.device;
  plain.parameters = context.parameters;
  plain.seed = context.seed;
  plain.ops = reference::operations(context.ops.norm_has_bias);
  return plain;
}

// TF32 is a mode of the process.
class Modes {
 public:
  Modes(const PrecisionPolicy& wanted, const PrecisionPolicy& usual, at::Device device)
      : usual_(usual), device_(device) {
    model::set_numeric_modes(wanted, device_);
  }
  ~Modes() { model::set_numeric_modes(usual_, device_); }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

 private:
  PrecisionPolicy usual_;
  at::Device device_;
};

std::vector<NamedTensor> train(ModelProgram& program) {
  program.before("train_step");
  program.run("train_step");
  return program.outputs("train_step");
}

double step_loss(const std::vector<NamedTensor>& outputs) {
  for (const auto& output : outputs) {
    if (output.name == "loss") return output.tensor.item<double>();
  }
  throw std::logic_error("a train step left no loss");
}

double squared_norm(const at::Tensor& tensor) {
  const double norm = at::linalg_vector_norm(tensor, 2, {}, false, at::kDouble).item<double>();
  return norm * norm;
}

// ‖value − right‖ / ‖right‖ over all gradients together; nothing where one is not finite.
std::optional<double> gradient_error(const std::vector<NamedTensor>& values,
                                     const std::vector<NamedTensor>& right) {
  const at::NoGradGuard no_grad;
  double apart = 0, whole = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!right[i].name.starts_with("grad.")) continue;
    apart += squared_norm(values.at(i).tensor.to(at::kFloat) - right[i].tensor);
    whole += squared_norm(right[i].tensor);
  }
  const double error = std::sqrt(apart / whole);
  return std::isfinite(error) ? std::optional(error) : std::nullopt;
}

}  // namespace

std::vector<MetricInfo> against_fp32_metrics() {
  constexpr auto neither = Direction::neither;
  constexpr auto lower = Direction::lower_is_better;
  return {
      {"loss", "", neither, "Loss of each compared training step; part fp32: of the same in fp32."},
      {"loss_error", "", lower, "How far each compared step's loss is from fp32's.",
       "|loss - fp32| / fp32"},
      {"gradient_error", "", lower,
       "How far all gradients of each compared step that is not skipped are from fp32's.",
       "norm of the difference / norm of fp32's"},
      {"last_loss_error", "", lower, "The last compared step's loss_error."},
      {"first_gradient_error", "", lower,
       "The gradient_error of the first step that is not skipped."},
      {"compared_skips", "count", lower, "Compared steps that an overflow skipped."},
      {"last_loss", "", neither, "Loss of the last compared step."},
  };
}

ComparedProgram::ComparedProgram(const CaseContext& context, const model::ModelConfig& config,
                                 const Shape& shape)
    : context_(context), config_(config), shape_(shape), program_(context, config, shape) {}

// Beside its recording that pass is a forward and a backward.
void ComparedProgram::before(const std::string& pass) { program_.before(pass); }
void ComparedProgram::run(const std::string& pass) {
  program_.run(pass == against_fp32_pass ? "forward_backward" : pass);
}
std::vector<NamedTensor> ComparedProgram::outputs(const std::string& pass) {
  return program_.outputs(pass);
}
std::vector<Count> ComparedProgram::counts(const std::string& pass) {
  return program_.counts(pass);
}

void ComparedProgram::record(const std::string& pass, Recorder& recorder) {
  if (pass == against_fp32_pass) {
    compare(recorder);
  } else {
    program_.record(pass, recorder);
  }
}

void ComparedProgram::compare(Recorder& recorder) {
  if (context_.group.size > 1) throw Unsupported("the comparison with fp32 is for one rank");
  ModelProgram right(in_fp32(context_), config_, shape_);
  program_.restart_from(right.whole_parameters());
  const auto steps = integer_option(context_.parameters, "compared_steps");
  double loss = 0, loss_error = 0;
  std::optional<double> first_gradient_error;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const std::vector<NamedTensor> values = train(program_);
    std::vector<NamedTensor> fp32;
    {
      const Modes modes({}, context_.precision, context_.device);
      fp32 = train(right);
    }
    loss = step_loss(values);
    const double right_loss = step_loss(fp32);
    if (!std::isfinite(loss)) {
      throw std::runtime_error("the loss of step " + std::to_string(step) + " is not finite");
    }
    loss_error = std::abs(loss - right_loss) / right_loss;
    recorder.sample("loss", "", loss);
    recorder.sample("loss", "fp32", right_loss);
    recorder.sample("loss_error", "", loss_error);
    if (const auto error = gradient_error(values, fp32)) {
      recorder.sample("gradient_error", "", *error);
      if (!first_gradient_error) first_gradient_error = error;
    }
  }
  recorder.sample("last_loss", "", loss);
  recorder.sample("last_loss_error", "", loss_error);
  if (first_gradient_error) recorder.sample("first_gradient_error", "", *first_gradient_error);
  recorder.sample("compared_skips", "", static_cast<double>(program_.skipped_steps()));
}

}  // namespace assay::model_step
