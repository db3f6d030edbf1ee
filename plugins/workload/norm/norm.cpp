#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <assay/workload.h>

#include "model/operation_program.h"
#include "model/random.h"
#include "model/safetensors.h"
#include "reference/norm_reference.h"
#include "reference/poisoned_memory.h"
#include "reference/reference.h"

namespace assay {

namespace {

struct Shape {
  std::int64_t rows, n_cols;
};

Shape shape_of(const CaseContext& context) {
  return {integer_option(context.parameters, "rows"), integer_option(context.parameters, "n_cols")};
}

// x and the output's gradient in the precision's dtype, weight and bias in its parameters' dtype.
struct Drawn {
  NormInputs in;
  at::Tensor dout;
};

Drawn draw(const CaseContext& context) {
  const auto [rows, n_cols] = shape_of(context);
  const auto generator = model::seeded_generator(context.device, context.seed);
  const auto options = at::TensorOptions().device(context.device);
  const auto random = [&] {
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
  return drawn;
}

std::vector<NamedTensor> leaves(const NormInputs& in) {
  std::vector<NamedTensor> leaves = {{"x", in.x}, {"weight", in.weight}};
  if (in.bias.defined()) leaves.push_back({"bias", in.bias});
  return leaves;
}

class NormProgram final : public model::OperationProgram {
 public:
  NormProgram(const CaseContext& context, const Drawn& drawn)
      : OperationProgram(
            "norm", [norm = context.ops.norm, in = drawn.in] { return norm(in); }, leaves(drawn.in),
            drawn.dout),
        tensor_bytes_(static_cast<double>(drawn.in.x.nbytes())) {}

  std::vector<Count> counts(const std::string& pass) override {
    const double tensors =
        (model::runs_forward(pass) ? 2 : 0) + (model::runs_backward(pass) ? 3 : 0);
    return {{"bytes", "", tensors * tensor_bytes_}};
  }

 private:
  double tensor_bytes_;
};

// With `dout`, gradients are compared too.
Verification compare(const CaseContext& context, const NormInputs& in, const at::Tensor& dout,
                     const std::vector<NamedTensor>& values) {
  const auto reference = model::norm_reference(in, /*centred=*/in.bias.defined(), dout);
  std::vector<NamedTensor> references = {{"out", reference.out}};
  if (dout.defined()) {
    references.push_back({"grad.x", reference.dx});
    references.push_back({"grad.weight", reference.dweight});
    if (in.bias.defined()) references.push_back({"grad.bias", reference.dbias});
  }
  Verification verification;
  model::compare_all(verification, values, references, model::tolerance(context.precision),
                     /*gradient_allowance=*/2);
  return verification;
}

class NormWorkload final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        integer_parameter("rows", 8192, 1, 1 << 24, "Vectors to normalise."),
        // With fewer columns a gradient is a small difference of large numbers.
        integer_parameter("n_cols", 1024, 8, 1 << 20, "Elements of a vector."),
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
         "once.",
         "forward: 2 tensors (x, out); backward: 3 (x, its gradient, the output's)"},
    };
    info.default_clock = "cuda_event";
    return info;
  }

  // x, the output and its gradient. A backward adds the gradient of x and what a norm of basic
  // operations keeps in fp32: x and its product with the scale.
  static std::string memory_estimate() {
    return "rows * n_cols * (element_size * (3 + runs_backward) + 8 * runs_backward)";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<NormProgram>(context, draw(context));
  }

  Verification verify(const CaseContext& context, const std::string& pass) override {
    const auto [rows, n_cols] = shape_of(context);
    const model::PoisonedMemory poisoned(
        context.device, 8 * rows * n_cols * static_cast<std::int64_t>(sizeof(float)));
    const auto drawn = draw(context);
    NormProgram program(context, drawn);
    const auto values = model::call_once(context, program, pass);
    model::require_dtype(values.at(0), drawn.in.x.scalar_type());
    return compare(context, drawn.in, model::runs_backward(pass) ? drawn.dout : at::Tensor(),
                   values);
  }

  // Another program's norm is taken for LayerNorm with a bias, for RMSNorm without.
  Verification verify_exchange(const CaseContext& context, const std::string& pass,
                               const Exchange& exchange) override {
    const auto [rows, n_cols] = shape_of(context);
    const std::vector<std::int64_t> whole = {rows, n_cols};
    const std::vector<std::int64_t> vector = {n_cols};
    const auto compute = context.precision.compute();
    const auto parameters = context.precision.parameters;

    NormInputs in;
    in.x = model::exchanged(exchange.inputs, "x", whole, compute);
    in.weight = model::exchanged(exchange.inputs, "weight", vector, parameters);
    const bool has_bias = model::exchanged_norm_has_bias(context.ops, exchange.inputs, "bias");
    if (has_bias) in.bias = model::exchanged(exchange.inputs, "bias", vector, parameters);

    std::vector<NamedTensor> values;
    const auto take = [&](const char* name, at::IntArrayRef sizes, at::ScalarType dtype) {
      values.push_back({name, model::exchanged(exchange.outputs, name, sizes, dtype)});
    };
    take("out", whole, compute);
    if (!model::runs_backward(pass)) return compare(context, in, {}, values);
    take("grad.x", whole, compute);
    take("grad.weight", vector, parameters);
    if (has_bias) take("grad.bias", vector, parameters);
    return compare(context, in, model::exchanged(exchange.inputs, "dout", whole, compute), values);
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::NormWorkload, "norm", "One call of a norm on random inputs.")
