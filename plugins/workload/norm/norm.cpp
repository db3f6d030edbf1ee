#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <assay/workload.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>

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

// Rows and columns that nobody can take for each other: each row has a scale and a mean of its own,
// and the scale grows along it. Half a row, another row or a mean of 0 then give other results,
// however wide the rows are.
void make_uneven(const at::Tensor& x) {
  const auto numbers = [&](std::int64_t count) { return at::arange(count, x.options()); };
  const auto spread = [&](double step) {  // evenly over [0, 1), in no order
    return numbers(x.size(0)).mul_(step).frac_().unsqueeze(1);
  };
  x.mul_(spread(0.618034).mul_(1.5).add_(0.5));
  x.mul_(numbers(x.size(1)).div_(2.0 * static_cast<double>(x.size(1))).add_(0.75));
  x.add_(spread(0.414214).sub_(0.5));
}

Drawn draw(const CaseContext& context) {
  const auto [rows, n_cols, with_residual] = shape_of(context);
  const auto generator = model::seeded_generator(context.device, context.seed);
  const auto options = at::TensorOptions().device(context.device);
  const auto randn = [&, rows = rows, n_cols = n_cols] {
    return at::randn({rows, n_cols}, generator, options);
  };
  const auto random = [&] { return randn().to(context.precision.compute()); };
  const auto parameter = [&](const at::Tensor& values) {
    return values.to(context.precision.parameters).requires_grad_();
  };
  Drawn drawn;
  at::Tensor x = randn();
  make_uneven(x);
  // A gradient that is uncorrelated with x would nearly vanish in the mean over a wide row.
  constexpr double correlation = 0.25;
  drawn.dout = randn().add_(x, correlation).to(context.precision.compute());
  drawn.in.x = x.to(context.precision.compute()).requires_grad_();
  x = at::Tensor();
  drawn.in.weight = parameter(at::rand({n_cols}, generator, options) + 0.5);
  if (context.ops.norm_has_bias) {
    drawn.in.bias = parameter(at::randn({n_cols}, generator, options));
  }
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

// What a comparison needs of a call: its values and the inputs that it had.
struct Compared {
  const Drawn& drawn;
  const std::vector<NamedTensor>& values;
  bool backward;  // gradients are compared too
  double tolerance;
};

void add_comparison(Verification& verification, const Compared& compared, const char* name,
                    const at::Tensor& reference, const at::Tensor& textbook,
                    const std::function<at::Tensor(const at::Tensor&)>& taken) {
  if (!reference.defined()) return;
  const auto found = std::ranges::find(compared.values, std::string(name), &NamedTensor::name);
  const bool there = found != compared.values.end() && found->tensor.defined();
  const bool gradient = std::string(name).starts_with("grad.");
  reference::compare_beside(verification, std::string(name) + " (a sample)",
                            there ? taken(found->tensor) : at::Tensor(), reference, textbook,
                            compared.tolerance * (gradient ? reference::gradient_allowance : 1));
}

at::Tensor rows_of(const at::Tensor& tensor, const at::Tensor& rows) {
  return tensor.defined() ? tensor.detach().index_select(0, rows) : at::Tensor();
}

// Results of plain operations in the inputs' dtype, with their gradients.
reference::AddNormResult textbook(const Drawn& drawn, bool centred, bool backward) {
  const at::AutoGradMode recorded(backward);
  NormInputs in = drawn.in;
  in.weight = in.weight.detach();
  if (in.bias.defined()) in.bias = in.bias.detach();
  in.x = drawn.residual.defined() ? (drawn.residual + in.x).detach() : in.x.detach();
  in.x.requires_grad_(backward);
  reference::AddNormResult made;
  const at::Tensor out = reference::textbook_norm(in, centred);
  made.sum = in.x.detach();
  made.out = out.detach();
  if (!backward) return made;
  torch::autograd::backward({out}, {drawn.dout});
  made.dsum = drawn.dsum.defined() ? in.x.grad() + drawn.dsum : in.x.grad();
  return made;
}

// Compares these rows of all tensors that have them.
void compare_rows(Verification& verification, const Compared& compared, const at::Tensor& rows) {
  const Drawn& whole = compared.drawn;
  Drawn drawn;
  drawn.in = {rows_of(whole.in.x, rows), whole.in.weight, whole.in.bias, whole.in.eps};
  drawn.residual = rows_of(whole.residual, rows);
  if (compared.backward) {
    drawn.dout = rows_of(whole.dout, rows);
    drawn.dsum = rows_of(whole.dsum, rows);
  }
  const bool centred = drawn.in.bias.defined();
  const auto usual = textbook(drawn, centred, compared.backward);
  const auto add = [&](const char* name, const at::Tensor& reference, const at::Tensor& beside) {
    add_comparison(verification, compared, name, reference, beside,
                   [&](const at::Tensor& value) { return rows_of(value, rows); });
  };
  if (!drawn.residual.defined()) {
    const auto right = reference::norm(drawn.in, centred, drawn.dout);
    add("out", right.out, usual.out);
    add("grad.x", right.dx, usual.dsum);
    return;
  }
  const auto right = reference::add_norm(drawn.residual, drawn.in, centred, drawn.dsum, drawn.dout);
  add("out", right.out, usual.out);
  add("sum", right.sum, usual.sum);
  add("grad.x", right.dsum, usual.dsum);
  add("grad.residual", right.dsum, usual.dsum);
}

// Compares these columns of the parameters' gradients, to which all rows contribute.
void compare_columns(Verification& verification, const Compared& compared,
                     const at::Tensor& columns) {
  const at::NoGradGuard no_grad;
  const Drawn& drawn = compared.drawn;
  // With a residual the sum is made in float64, 128 MiB at a time.
  const std::int64_t elements_at_once = std::int64_t{1} << (drawn.residual.defined() ? 24 : 30);
  const auto step = std::max<std::int64_t>(1, elements_at_once / drawn.in.x.size(1));
  at::Tensor dweight, dbias;
  for (std::int64_t first = 0; first < drawn.in.x.size(0); first += step) {
    const auto count = std::min(step, drawn.in.x.size(0) - first);
    const auto rows = [&](const at::Tensor& tensor) { return tensor.narrow(0, first, count); };
    NormInputs in = drawn.in;
    in.x = rows(in.x);
    if (drawn.residual.defined()) {
      in.x = rows(drawn.residual).to(at::kDouble) + in.x.to(at::kDouble);
    }
    const auto part = reference::norm_columns(in, in.bias.defined(), rows(drawn.dout), columns);
    dweight = dweight.defined() ? dweight + part.dweight : part.dweight;
    dbias = dbias.defined() ? dbias + part.dbias : part.dbias;
  }
  const auto taken = [&](const at::Tensor& value) {
    return value.detach().index_select(0, columns);
  };
  // Textbook operations make these sums in fp32 or wider, and round them.
  const auto rounded = [](const at::Tensor& sum, const at::Tensor& of) {
    return sum.to(of.scalar_type());
  };
  add_comparison(verification, compared, "grad.weight", dweight, rounded(dweight, drawn.in.weight),
                 taken);
  if (drawn.in.bias.defined()) {
    add_comparison(verification, compared, "grad.bias", dbias, rounded(dbias, drawn.in.bias),
                   taken);
  }
}

// Of a Mi elements, between 16 and 1024.
std::int64_t rows_to_draw(std::int64_t n_cols) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 20) / n_cols, 16, 1024);
}

Verification compare_sample(const Compared& compared, std::uint64_t seed) {
  constexpr std::int64_t drawn_columns = 64;
  const auto& x = compared.drawn.in.x;
  Verification verification;
  compare_rows(verification, compared,
               reference::drawn_below(x.size(0), rows_to_draw(x.size(1)), seed).to(x.device()));
  if (!compared.backward) return verification;
  compare_columns(verification, compared,
                  reference::drawn_below(x.size(1), drawn_columns, seed + 1).to(x.device()));
  return verification;
}

class NormProgram final : public model::OperationProgram {
 public:
  NormProgram(const CaseContext& context, const Drawn& drawn)
      : OperationProgram("norm", call(context.ops, drawn), leaves(drawn), results(drawn)),
        drawn_(drawn),
        tolerance_(reference::tolerance(context.precision)),
        tensor_bytes_(static_cast<double>(drawn.in.x.nbytes())),
        tensors_forward_(drawn.residual.defined() ? 4 : 2),
        tensors_backward_(drawn.residual.defined() ? 4 : 3) {}

  std::vector<Count> counts(const std::string& pass) override {
    const double tensors = (model::runs_forward(pass) ? tensors_forward_ : 0) +
                           (model::runs_backward(pass) ? tensors_backward_ : 0);
    return {{"bytes", "", tensors * tensor_bytes_}};
  }

  Verification look(const std::string& pass, const Look& look) override {
    const auto values = outputs(pass);
    reference::require_output(values, "out", drawn_.in.x.scalar_type());
    return compare_sample({drawn_, values, model::runs_backward(pass), tolerance_}, look.seed);
  }

 private:
  Drawn drawn_;
  double tolerance_;
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
    const bool backward = model::runs_backward(pass);
    std::vector<NamedTensor> values;
    {
      NormProgram program(context, draw(context));
      values = reference::call_once(context, program, pass);
    }
    // The same inputs anew: a call may have changed its own.
    const auto drawn = draw(context);
    reference::require_output(values, "out", drawn.in.x.scalar_type());
    Verification verification = compare(context, drawn, backward, values);
    if (verification.error > verification.tolerance) return verification;
    const auto rows =
        reference::drawn_below(shape.rows, rows_to_draw(shape.n_cols), reference::fresh_seed());
    compare_rows(verification, {drawn, values, backward, reference::tolerance(context.precision)},
                 rows.to(context.device));
    return verification;
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
