#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <assay/workload.h>

#include "model/operation_program.h"
#include "model/random.h"
#include "model/safetensors.h"

namespace assay {

namespace {

struct Shape {
  std::int64_t rows, n_cols;
  bool residual;  // the second entry, with the residual addition
};

Shape shape_of(const CaseContext& context) {
  return {integer_option(context.parameters, "rows"), integer_option(context.parameters, "n_cols"),
          boolean_option(context.parameters, "residual")};
}

// x, residual and the outputs' gradients in the precision's dtype, weight and bias in its
// parameters' dtype.
struct Drawn {
  NormInputs in;
  at::Tensor dout;
  at::Tensor residual;  // these two with a residual only
  at::Tensor dsum;
};

Drawn draw(const CaseContext& context) {
  const auto [rows, n_cols, with_residual] = shape_of(context);
  const auto generator = model::seeded_generator(context.device, context.seed);
  const auto options = at::TensorOptions().device(context.device);
  const auto random = [&, rows = rows, n_cols = n_cols] {
    return at::randn({rows, n_cols}, generator, options).to(context.precision.compute());
  };
  const auto parameter = [&](const at::Tensor& values) {
    return values.to(context.precision.parameters).requires_grad_();
  };
  Drawn drawn;
  drawn.in.x = random().requires_grad_();
  drawn.in.weight = parameter(at::rand({n_cols}, generator, options) + 0.5);
  if (context.ops.norm_has_bias) {
    drawn.in.bias = parameter(at::randn({n_cols}, generator, options));
  }
  drawn.dout = random();
  if (with_residual) {
    drawn.residual = random().requires_grad_();
    drawn.dsum = random();
  }
  return drawn;
}

std::vector<NamedTensor> leaves(const Drawn& drawn) {
  std::vector<NamedTensor> leaves = {{"x", drawn.in.x}, {"weight", drawn.in.weight}};
  if (drawn.in.bias.defined()) leaves.push_back({"bias", drawn.in.bias});
  if (drawn.residual.defined()) leaves.push_back({"residual", drawn.residual});
  return leaves;
}

model::OperationProgram::Forward call(const Ops& ops, const Drawn& drawn) {
  if (!drawn.residual.defined()) {
    return [norm = ops.norm, in = drawn.in](std::vector<at::Tensor>& results) {
      results.push_back(norm(in));
    };
  }
  return [add_norm = ops.add_norm, drawn](std::vector<at::Tensor>& results) {
    auto [sum, out] = add_norm(drawn.residual, drawn.in);
    results.push_back(std::move(out));
    results.push_back(std::move(sum));
  };
}

std::vector<model::OperationProgram::Result> results(const Drawn& drawn) {
  if (!drawn.residual.defined()) return {{"out", drawn.dout}};
  return {{"out", drawn.dout}, {"sum", drawn.dsum}};
}

class NormProgram final : public model::OperationProgram {
 public:
  NormProgram(const CaseContext& context, const Drawn& drawn)
      : OperationProgram("norm", call(context.ops, drawn), leaves(drawn), results(drawn)),
        tensor_bytes_(static_cast<double>(drawn.in.x.nbytes())),
        tensors_forward_(drawn.residual.defined() ? 4 : 2),
        tensors_backward_(drawn.residual.defined() ? 4 : 3) {}

  std::vector<Count> counts(const std::string& pass) override {
    const double tensors = (model::runs_forward(pass) ? tensors_forward_ : 0) +
                           (model::runs_backward(pass) ? tensors_backward_ : 0);
    return {{"bytes", "", tensors * tensor_bytes_}};
  }

 private:
  double tensor_bytes_;
  double tensors_forward_;
  double tensors_backward_;
};

// With `backward`, gradients are compared too.
Verification compare(const CaseContext& context, const Drawn& drawn, bool backward,
                     const std::vector<NamedTensor>& values) {
  const auto& in = drawn.in;
  const bool centred = in.bias.defined();
  const auto dout = backward ? drawn.dout : at::Tensor();
  std::vector<NamedTensor> references;
  const auto add = [&](const char* name, const at::Tensor& reference) {
    if (reference.defined()) references.push_back({name, reference});
  };
  if (drawn.residual.defined()) {
    const auto right = reference::add_norm(drawn.residual, in, centred,
                                           backward ? drawn.dsum : at::Tensor(), dout);
    add("out", right.out);
    add("sum", right.sum);
    add("grad.x", right.dsum);
    add("grad.residual", right.dsum);
    add("grad.weight", right.dweight);
    add("grad.bias", right.dbias);
  } else {
    const auto right = reference::norm(in, centred, dout);
    add("out", right.out);
    add("grad.x", right.dx);
    add("grad.weight", right.dweight);
    add("grad.bias", right.dbias);
  }
  Verification verification;
  reference::compare_all(verification, values, references, reference::tolerance(context.precision));
  return verification;
}

class NormWorkload final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        integer_parameter("rows", 8192, 1, 1 << 24, "Vectors to normalise."),
        // With fewer columns a gradient is a small difference of large numbers.
        integer_parameter("n_cols", 1024, 8, 1 << 20, "Elements of a vector."),
        left_out_at_default(boolean_parameter(
            "residual", false,
            "Whether the call adds x to a residual, normalises the sum and returns both.")),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"inference", "forward", "backward", "forward_backward"};
    info.default_passes = {"forward", "backward"};
    info.uses = {"norm", "precision", "compile"};
    info.metrics = {
        {"bytes", "byte", Direction::neither,
         "Size of the tensors of rows * n_cols elements that must be read or written, each counted "
         "once: forward 2 (x, out), backward 3 (x, its gradient, the output's); with a residual "
         "forward 4 (residual, x, their sum, out), backward 4 (the sum, both outputs' gradients, "
         "the gradient of residual and x).",
         "rows * n_cols * element_size * (runs_forward * if(residual, 4, 2) + runs_backward * "
         "if(residual, 4, 3))"},
    };
    info.default_clock = "cuda_event";
    return info;
  }

  // x, the output and its gradient. A backward adds the gradient of x and what a norm of basic
  // operations keeps in fp32: x and its product with the scale. A residual adds itself, the sum,
  // the sum's gradient and its own.
  static std::string memory_estimate() {
    return "rows * n_cols * (element_size * (3 + runs_backward + if(residual == true, 3 + "
           "runs_backward, 0)) + 8 * runs_backward)";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<NormProgram>(context, draw(context));
  }

  Verification verify(const CaseContext& context, const std::string& pass) override {
    const auto shape = shape_of(context);
    const reference::PoisonedMemory poisoned(
        context.device, 8 * shape.rows * shape.n_cols * static_cast<std::int64_t>(sizeof(float)));
    const auto drawn = draw(context);
    NormProgram program(context, drawn);
    const auto values = reference::call_once(context, program, pass);
    reference::require_dtype(values.at(0), drawn.in.x.scalar_type());
    return compare(context, drawn, model::runs_backward(pass), values);
  }

  // Another program's norm is taken for LayerNorm with a bias, for RMSNorm without.
  Verification verify_exchange(const CaseContext& context, const std::string& pass,
                               const Exchange& exchange) override {
    const auto [rows, n_cols, residual] = shape_of(context);
    const std::vector<std::int64_t> whole = {rows, n_cols};
    const std::vector<std::int64_t> vector = {n_cols};
    const auto compute = context.precision.compute();
    const auto parameters = context.precision.parameters;
    const bool backward = model::runs_backward(pass);
    const auto given = [&](const char* name) {
      return reference::exchanged(exchange.inputs, name, whole, compute);
    };

    Drawn drawn;
    drawn.in.x = given("x");
    drawn.in.weight = reference::exchanged(exchange.inputs, "weight", vector, parameters);
    const bool has_bias = model::exchanged_norm_has_bias(context.ops, exchange.inputs, "bias");
    if (has_bias) {
      drawn.in.bias = reference::exchanged(exchange.inputs, "bias", vector, parameters);
    }
    if (residual) drawn.residual = given("residual");
    if (backward) drawn.dout = given("dout");
    if (backward && residual) drawn.dsum = given("dsum");

    std::vector<NamedTensor> values;
    const auto take = [&](const char* name, at::IntArrayRef sizes, at::ScalarType dtype) {
      values.push_back({name, reference::exchanged(exchange.outputs, name, sizes, dtype)});
    };
    take("out", whole, compute);
    if (residual) take("sum", whole, compute);
    if (!backward) return compare(context, drawn, backward, values);
    take("grad.x", whole, compute);
    if (residual) take("grad.residual", whole, compute);
    take("grad.weight", vector, parameters);
    if (has_bias) take("grad.bias", vector, parameters);
    return compare(context, drawn, backward, values);
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::NormWorkload, "norm", "One call of a norm on random inputs.")
