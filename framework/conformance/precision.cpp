#include <ATen/Context.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <assay/precision.h>
#include <assay/reference.h>
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "conformance/operation.h"
#include "conformance/tiny_model.h"
#include "model/autocast.h"
#include "model/numeric_modes.h"
#include "model/random.h"

namespace assay::conformance {

namespace {

// Two tokens overflow fp16 at the usual 65536.
constexpr double loss_scale = 1024;
// No gradient of a model is so small that this leaves it within fp16, or fp32.
constexpr double overflowing_scale = 0x1p126;
constexpr int training_steps = 5;
// Gradients of projections into a softmax are small differences of large numbers.
constexpr double model_gradient_allowance = 10;

class InForce {
 public:
  explicit InForce(const Shared<PrecisionBoundary>& plugin) : device_(plugin.device()) {
    throw_unless_ok(plugin.get().policy(policy_));
    model::set_numeric_modes(policy_, device_);
    ops_ = reference::operations(/*norm_has_bias=*/false);
    throw_unless_ok(plugin.get().wrap(ops_));
  }
  ~InForce() { model::set_numeric_modes({}, device_); }
  InForce(const InForce&) = delete;
  InForce& operator=(const InForce&) = delete;

  const PrecisionPolicy& policy() const { return policy_; }
  const Ops& ops() const { return ops_; }

 private:
  at::Device device_;
  PrecisionPolicy policy_;
  Ops ops_;
};

bool narrow(at::ScalarType dtype) { return dtype == at::kHalf || dtype == at::kBFloat16; }

CheckVerdict consistent(const Shared<PrecisionBoundary>& plugin) {
  PrecisionPolicy policy, again;
  throw_unless_ok(plugin.get().policy(policy));
  throw_unless_ok(plugin.get().policy(again));
  const auto wrong = [&]() -> std::string {
    if (!at::isFloatingType(policy.parameters)) return "parameters must be of a floating type";
    if (policy.autocast && !narrow(*policy.autocast)) {
      return "autocast is to fp16 or bf16, not " + dtype_text(*policy.autocast);
    }
    if (policy.autocast && policy.parameters != at::kFloat) {
      return "autocast starts from fp32 parameters, not " + dtype_text(policy.parameters);
    }
    if (policy.tf32 && policy.parameters != at::kFloat) return "TF32 is a mode of fp32 products";
    const double scale = policy.initial_loss_scale;
    if (policy.loss_scaling && !(std::isfinite(scale) && scale >= 1)) {
      return fmt::format("the loss scale begins at {:g} and should be at least 1", scale);
    }
    if (policy.loss_scaling && policy.compute() != at::kHalf) {
      return "loss is scaled without fp16: other types do not underflow";
    }
    if (policy.loss_scaling && policy.loss_scale_growth_interval < 1) {
      return fmt::format("the loss scale grows after {} steps and should after at least 1",
                         policy.loss_scale_growth_interval);
    }
    if (policy.fp32_master && !narrow(policy.parameters)) {
      return "parameters in " + dtype_text(policy.parameters) + " need no master copy in fp32";
    }
    if (again.parameters != policy.parameters || again.autocast != policy.autocast ||
        again.tf32 != policy.tf32 || again.loss_scaling != policy.loss_scaling ||
        again.fp32_master != policy.fp32_master) {
      return "two calls of policy() give different policies";
    }
    return {};
  };
  return {.complaint = wrong()};
}

CheckVerdict complete(const Shared<PrecisionBoundary>& plugin) {
  const InForce in_force(plugin);
  const Ops& ops = in_force.ops();
  const std::pair<const char*, bool> present[] = {
      {"attention", bool(ops.attention)}, {"norm", bool(ops.norm)},
      {"linear", bool(ops.linear)},       {"rope", bool(ops.rope)},
      {"swiglu", bool(ops.swiglu)},       {"gelu", bool(ops.gelu)},
      {"embedding", bool(ops.embedding)}, {"loss", bool(ops.loss)},
      {"optimizer", bool(ops.optimizer)}};
  for (const auto& [name, there] : present) {
    if (!there) return {.complaint = fmt::format("wrap() leaves no {}", name)};
  }
  return {};
}

struct LinearShape {
  std::int64_t rows, in, out;
};

constexpr LinearShape shapes[] = {{1, 1, 1},       {1, 3, 2},    {3, 17, 5},
                                  {2, 64, 65},     {16, 32, 48}, {33, 128, 129},
                                  {128, 256, 128}, {5, 1031, 7}, {257, 64, 257}};

std::string text(const LinearShape& shape) {
  return fmt::format("x [{}, {}], weight [{}, {}]", shape.rows, shape.in, shape.out, shape.in);
}

Operation linear(const InForce& in_force, const LinearShape& shape, const at::Device& device) {
  const PrecisionPolicy& policy = in_force.policy();
  const auto generator = model::seeded_generator(at::kCPU, 13);
  const auto random = [&](std::int64_t rows, std::int64_t columns) {
    return at::randn({rows, columns}, generator, at::TensorOptions(at::kDouble)).to(device);
  };
  const auto x = random(shape.rows, shape.in).to(policy.parameters);
  const auto weight = random(shape.out, shape.in).to(policy.parameters);
  Operation made;
  made.inputs = {{"x", x}, {"weight", weight}};
  made.dout = random(shape.rows, shape.out).to(policy.compute());
  made.tolerance = reference::tolerance(policy);
  made.call = [&in_force, device](const std::vector<at::Tensor>& all) {
    const model::Autocast autocast(device, in_force.policy().autocast);
    return in_force.ops().linear(all[0], all[1]);
  };
  made.textbook = [dtype = policy.compute()](const std::vector<at::Tensor>& all) {
    return at::linear(all[0].to(dtype), all[1].to(dtype));
  };
  made.reference = [x, weight, dout = made.dout] {
    const auto right = reference::linear(x, weight, dout);
    return std::vector<Expected>{
        {"out", right.out, 0}, {"grad.x", right.dx, 0}, {"grad.weight", right.dweight, 0}};
  };
  return made;
}

CheckVerdict product_dtype(const Shared<PrecisionBoundary>& plugin) {
  const InForce in_force(plugin);
  const Operation operation = linear(in_force, shapes[4], plugin.device());
  const auto out = operation.call({operation.inputs[0].tensor, operation.inputs[1].tensor});
  const auto should = in_force.policy().compute();
  if (out.scalar_type() == should) return {};
  return {.complaint = fmt::format("a matrix product comes out in {}, but the policy says {}",
                                   dtype_text(out.scalar_type()), dtype_text(should))};
}

// Compares a model's loss, logits and gradients under the policy with the same model in float64.
CheckVerdict model_agrees(const Shared<PrecisionBoundary>& plugin, const std::string& pass) {
  const InForce in_force(plugin);
  CaseContext context = textbook_context(plugin.device());
  context.ops = in_force.ops();
  context.precision = in_force.policy();
  context.precision.initial_loss_scale = loss_scale;
  CaseContext wide = textbook_context(plugin.device());
  wide.precision.parameters = at::kDouble;
  TinyModel tested(context);
  TinyModel reference(wide);
  reference.restart_from(tested);
  for (TinyModel* each : {&tested, &reference}) {
    each->before(pass);
    each->run(pass);
  }
  Verification verification;
  reference::compare_all(verification, tested.outputs(pass), reference.outputs(pass),
                         reference::tolerance(context.precision), model_gradient_allowance);
  CheckVerdict verdict{verification.error, verification.tolerance, {}, {}};
  if (!(verdict.error <= verdict.tolerance)) {
    verdict.complaint = fmt::format("{} is off by {:.2g}, more than {:.2g}", verification.worst,
                                    verdict.error, verdict.tolerance);
  }
  return verdict;
}

at::Tensor loss_of(TinyModel& model) {
  model.before("train_step");
  model.run("train_step");
  for (const NamedTensor& output : model.outputs("train_step")) {
    if (output.name == "loss") return output.tensor.to(at::kDouble).clone();
  }
  throw std::logic_error("a train step left no loss");
}

// Compares how far the loss falls over some steps with the same steps in float64.
CheckVerdict training_agrees(const Shared<PrecisionBoundary>& plugin) {
  const InForce in_force(plugin);
  CaseContext context = textbook_context(plugin.device());
  context.ops = in_force.ops();
  context.precision = in_force.policy();
  context.precision.initial_loss_scale = loss_scale;
  CaseContext wide = textbook_context(plugin.device());
  wide.precision.parameters = at::kDouble;
  TinyModel tested(context);
  TinyModel reference(wide);
  reference.restart_from(tested);
  const at::Tensor first = loss_of(tested), first_reference = loss_of(reference);
  Verification verification;
  for (int step = 1; step < training_steps; ++step) {
    reference::compare(verification, fmt::format("the loss's fall after step {}", step),
                       first - loss_of(tested), first_reference - loss_of(reference),
                       model_gradient_allowance * reference::tolerance(context.precision));
  }
  CheckVerdict verdict{verification.error, verification.tolerance, {}, {}};
  if (!(verdict.error <= verdict.tolerance)) {
    verdict.complaint = fmt::format("{} is off by {:.2g}, more than {:.2g}", verification.worst,
                                    verdict.error, verdict.tolerance);
  }
  return verdict;
}

std::vector<at::Tensor> parameters_after_step(TinyModel& model) {
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& output : model.outputs("train_step")) {
    if (output.name.starts_with("parameter.")) parameters.push_back(output.tensor.clone());
  }
  return parameters;
}

CheckVerdict overflow_is_skipped(const Shared<PrecisionBoundary>& plugin) {
  const InForce in_force(plugin);
  if (!in_force.policy().loss_scaling) throw Unsupported("it scales no loss");
  CaseContext context = textbook_context(plugin.device());
  context.ops = in_force.ops();
  context.precision = in_force.policy();
  TinyModel model(context);
  context.precision.initial_loss_scale = overflowing_scale;
  TinyModel overflowing(context);
  overflowing.restart_from(model);
  loss_of(overflowing);
  const auto after = parameters_after_step(overflowing);
  model.before("train_step");
  const auto before = parameters_after_step(model);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!after[i].equal(before[i]))
      return {.complaint = "a step that overflows changes parameters"};
  }
  if (overflowing.skipped_steps() == 1) return {};
  return {.complaint = fmt::format("one step overflows, and {} are counted as skipped",
                                   overflowing.skipped_steps())};
}

}  // namespace

std::vector<Check> precision_checks(const Subject& subject) {
  const Shared<PrecisionBoundary> plugin(subject);
  Check products{"linear", "Matrix products and their gradients agree with float64.", {}};
  for (const LinearShape& shape : shapes) {
    products.cases.push_back({text(shape), [plugin, shape] {
                                const InForce in_force(plugin);
                                return agrees(linear(in_force, shape, plugin.device()), true);
                              }});
  }
  Check model{"model", "Loss and gradients of a model agree with the same model in float64.", {}};
  for (const char* pass : {"inference", "forward", "forward_backward"}) {
    model.cases.push_back({fmt::format("{}: {}", pass, tiny_model_text),
                           [plugin, pass] { return model_agrees(plugin, pass); }});
  }
  return {{"policy",
           "Its dtypes, TF32 and loss scaling are consistent.",
           {{"policy()", [plugin] { return consistent(plugin); }}}},
          {"operations",
           "Wrapping leaves every operation in place.",
           {{"wrap() of textbook operations", [plugin] { return complete(plugin); }}}},
          {"dtype",
           "Matrix products come out in the policy's dtype.",
           {{text(shapes[4]), [plugin] { return product_dtype(plugin); }}}},
          std::move(products),
          std::move(model),
          {"training",
           "The loss falls as it does in float64.",
           {{fmt::format("{} steps: {}", training_steps, tiny_model_text),
             [plugin] { return training_agrees(plugin); }}}},
          {"overflow",
           "Under loss scaling a step that overflows changes nothing and is counted.",
           {{fmt::format("one step: {}", tiny_model_text),
             [plugin] { return overflow_is_skipped(plugin); }}}}};
}

}  // namespace assay::conformance
