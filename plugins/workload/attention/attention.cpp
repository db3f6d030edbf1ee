#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <assay/reference.h>
#include <assay/workload.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "model/operation_program.h"
#include "model/random.h"
#include "model/safetensors.h"

namespace assay {

namespace {

struct Shape {
  std::int64_t batch, heads, kv_heads, seq_len, d_head;
  bool causal;
  std::int64_t window;  // 0: none

  std::int64_t elements() const { return batch * heads * seq_len * d_head; }
  std::int64_t kv_elements() const { return batch * kv_heads * seq_len * d_head; }
  // (query, key) pairs that mask and window leave.
  double pairs() const {
    const auto s = static_cast<double>(seq_len);
    const auto w = window > 0 ? std::min(static_cast<double>(window), s) : s;
    const double before = w * (2 * s - w + 1) / 2;  // and the query's own
    return static_cast<double>(batch * heads) * (causal ? before : 2 * before - s);
  }
};

// Shape::pairs() as an expression.
std::string pairs_formula() {
  const std::string seen = "if(window > 0, min(window, seq_len), seq_len)";
  const std::string causal = seen + " * (2 * seq_len - " + seen + " + 1) / 2";
  return "batch * heads * if(causal, " + causal + ", 2 * " + causal + " - seq_len)";
}

Shape shape_of(const CaseContext& context) {
  const auto& parameters = context.parameters;
  const auto heads = integer_option(parameters, "heads");
  const auto given = integer_option(parameters, "kv_heads");
  const auto kv_heads = given == 0 ? heads : given;
  if (heads % kv_heads != 0) {
    throw std::invalid_argument("heads " + std::to_string(heads) +
                                " is not a multiple of kv_heads " + std::to_string(kv_heads));
  }
  return {integer_option(parameters, "batch"),
          heads,
          kv_heads,
          integer_option(parameters, "seq_len"),
          integer_option(parameters, "d_head"),
          boolean_option(parameters, "causal"),
          integer_option(parameters, "window")};
}

std::vector<std::int64_t> sizes_of(const Shape& shape) {
  return {shape.batch, shape.heads, shape.seq_len, shape.d_head};
}

// Of k and v.
std::vector<std::int64_t> kv_sizes_of(const Shape& shape) {
  return {shape.batch, shape.kv_heads, shape.seq_len, shape.d_head};
}

AttentionInputs with_mask(const Shape& shape) {
  AttentionInputs in;
  in.causal = shape.causal;
  in.scale = 1 / std::sqrt(static_cast<double>(shape.d_head));
  in.window = shape.window;
  return in;
}

struct Drawn {
  AttentionInputs in;
  at::Tensor dout;
};

// Makes scores of some queries so large that exp() overflows for whoever leaves out their maximum.
// Scores of narrow products would round by more than 1.
void raise_scores(const at::Tensor& q, const PrecisionPolicy& precision) {
  constexpr std::int64_t one_in = 16;
  constexpr double factor = 40;
  if (precision.tf32 || at::elementSize(precision.compute()) < sizeof(float)) return;
  q.slice(2, q.size(2) / 2 % one_in, std::nullopt, one_in).mul_(factor);
}

Drawn draw(const CaseContext& context) {
  const auto shape = shape_of(context);
  const auto generator = model::seeded_generator(context.device, context.seed);
  const auto random = [&](const std::vector<std::int64_t>& sizes) {
    return at::randn(sizes, generator, at::TensorOptions().device(context.device))
        .to(context.precision.compute());
  };
  Drawn drawn{with_mask(shape), {}};
  drawn.in.q = random(sizes_of(shape));
  raise_scores(drawn.in.q, context.precision);
  drawn.in.q.requires_grad_();
  drawn.in.k = random(kv_sizes_of(shape)).requires_grad_();
  drawn.in.v = random(kv_sizes_of(shape)).requires_grad_();
  drawn.dout = random(sizes_of(shape));
  return drawn;
}

double root_mean_square(const at::Tensor& tensor) {
  return at::linalg_vector_norm(tensor.detach(), 2, at::OptionalIntArrayRef{}, /*keepdim=*/false,
                                c10::promoteTypes(tensor.scalar_type(), at::kFloat))
             .item<double>() /
         std::sqrt(static_cast<double>(tensor.numel()));
}

// The least root mean square that a gradient of q or k counts with (reference::deviation()): an
// eighth of what the terms of dS = P ∘ (dO Vᵀ − rowsum(dO ∘ O)) make of it, with P around 1 / (keys
// that a query sees). Where a query sees a single key the terms cancel: the gradient is 0, and what
// a kernel leaves is their rounding. Gradients of random inputs are larger.
double floor_of(const std::string& gradient, const AttentionInputs& in, const at::Tensor& dout) {
  constexpr double share = 0.125;
  const auto within = [&](std::int64_t length) {
    if (in.window <= 0) return static_cast<double>(length);
    return static_cast<double>(std::min(length, in.causal ? in.window : 2 * in.window - 1));
  };
  const double keys = within(in.k.size(2));
  const double dscores = share * root_mean_square(dout) * root_mean_square(in.v) *
                         std::sqrt(static_cast<double>(in.q.size(3))) * in.scale;
  if (gradient == "grad.q") return dscores * root_mean_square(in.k) / std::sqrt(keys);
  if (gradient != "grad.k") return 0;
  // k sums over the queries that see it, of all heads of its group.
  const double queries = within(in.q.size(2)) * static_cast<double>(in.q.size(1) / in.k.size(1));
  return dscores * root_mean_square(in.q) * std::sqrt(queries) / keys;
}

// Compares rows drawn from the seed, over all heads. dout: undefined where gradients are not
// compared.
Verification compare_sample(const Drawn& drawn, const std::vector<NamedTensor>& values,
                            double tolerance, const Look& look) {
  const auto sample = reference::attention_sample(drawn.in, drawn.dout, look.seed, look.device);
  // Elsewhere the textbook's fp32 may be finer than the device's, which may have TF32.
  const bool beside = drawn.in.q.device() == look.device || drawn.in.q.element_size() < 4;
  Verification verification;
  // rounding: what it makes of each row; undefined where nothing cancels. Products of split
  // operands leave four times that, 2^-22: twice by this, and textbook_allowance doubles it.
  constexpr double of_rounding = 2;
  const auto add = [&](const char* name, const at::Tensor& rows, const at::Tensor& reference,
                       const at::Tensor& textbook, const at::Tensor& rounding = {}) {
    if (!reference.defined()) return;
    const bool gradient = std::string(name).starts_with("grad.");
    const double floor = gradient ? floor_of(name, drawn.in, drawn.dout) : 0;
    double allowed = tolerance * (gradient ? reference::gradient_allowance : 1);
    at::Tensor usual = textbook;
    if (rounding.defined()) {
      const auto columns = static_cast<double>(reference.size(-1));
      const auto rounded = reference + (of_rounding * rounding / std::sqrt(columns)).unsqueeze(-1);
      const auto noise = reference::deviation(rounded, reference, floor);
      allowed += reference::textbook_allowance * noise.whole;
      if (noise.larger() > reference::deviation(textbook, reference, floor).larger()) {
        usual = rounded;
      }
    }
    const auto found = std::ranges::find(values, std::string(name), &NamedTensor::name);
    const bool there = found != values.end() && found->tensor.defined();
    reference::compare_beside(
        verification, std::string(name) + " (a sample)",
        there ? reference::rows_of_heads(found->tensor, rows).to(look.device) : at::Tensor(),
        reference, beside ? usual : at::Tensor(), allowed, floor);
  };
  add("out", sample.queries, sample.out, sample.textbook_out);
  add("grad.q", sample.queries, sample.dq, sample.textbook_dq, sample.rounding_dq);
  add("grad.k", sample.keys, sample.dk, sample.textbook_dk, sample.rounding_dk);
  add("grad.v", sample.keys, sample.dv, sample.textbook_dv);
  return verification;
}

class AttentionProgram final : public model::OperationProgram {
 public:
  AttentionProgram(const CaseContext& context, const Drawn& drawn)
      : OperationProgram(
            "attention",
            [attention = context.ops.attention, in = drawn.in](std::vector<at::Tensor>& results) {
              results.push_back(attention(in));
            },
            {{"q", drawn.in.q}, {"k", drawn.in.k}, {"v", drawn.in.v}}, {{"out", drawn.dout}}),
        shape_(shape_of(context)),
        element_size_(drawn.in.q.element_size()),
        drawn_(drawn),
        tolerance_(reference::tolerance(context.precision)) {}

  Verification look(const std::string& pass, const Look& look) override {
    const auto values = outputs(pass);
    reference::require_output(values, "out", drawn_.in.q.scalar_type());
    Drawn drawn = drawn_;
    if (!model::runs_backward(pass)) drawn.dout = at::Tensor();
    return compare_sample(drawn, values, tolerance_, look);
  }

  // FLOPs: QKᵀ and PV forward; backward the recomputed QKᵀ and the products for dV, dP, dQ and dK
  // (Dao 2023, section 4.1). Bytes: each tensor that must be read or written, once; forward q, k, v
  // and out, backward these but k's and v's with their gradients, and dout.
  std::vector<Count> counts(const std::string& pass) override {
    const double product = 2 * shape_.pairs() * static_cast<double>(shape_.d_head);
    const auto tensors =
        static_cast<double>((shape_.elements() + shape_.kv_elements()) * element_size_);
    const double forwards = model::runs_forward(pass) ? 1 : 0;
    const double backwards = model::runs_backward(pass) ? 1 : 0;
    return {{"flops", "", (2 * forwards + 5 * backwards) * product},
            {"bytes", "", (2 * forwards + 4 * backwards) * tensors}};
  }

 private:
  Shape shape_;
  std::int64_t element_size_;
  Drawn drawn_;
  double tolerance_;
};

// The output at `rows` and, with `dout`, the gradients of a dout that is 0 outside of them.
// Float64, a block of rows at a time.
std::vector<NamedTensor> references(const AttentionInputs& in, const at::Tensor& rows,
                                    const at::Tensor& dout) {
  const bool backward = dout.defined();
  const auto wide = at::TensorOptions().dtype(at::kDouble);
  std::vector<at::Tensor> out;
  at::Tensor dq, dk, dv;
  if (backward) {
    dq = at::zeros_like(dout, wide);
    dk = at::zeros_like(in.k.detach(), wide);
    dv = at::zeros_like(in.v.detach(), wide);
  }
  for (const auto& block : rows.split(reference::whole_rows)) {
    const auto device_rows = block.to(in.q.device());
    const auto reference = reference::attention(
        in, backward ? dout.index_select(2, device_rows) : at::Tensor(), block);
    out.push_back(reference.out);
    if (!backward) continue;
    dq.index_copy_(2, device_rows, reference.dq);
    dk += reference.dk;
    dv += reference.dv;
  }
  std::vector<NamedTensor> references = {{"out", at::cat(out, 2)}};
  if (!backward) return references;
  references.push_back({"grad.q", dq});
  references.push_back({"grad.k", dk});
  references.push_back({"grad.v", dv});
  return references;
}

// values: the whole "out", and the gradients.
Verification compare(const CaseContext& context, const AttentionInputs& in, const at::Tensor& rows,
                     const at::Tensor& dout, std::vector<NamedTensor> values) {
  at::Tensor& out = std::ranges::find(values, "out", &NamedTensor::name)->tensor;
  out = out.index_select(2, rows.to(context.device));
  Verification verification;
  const double tolerance = reference::tolerance(context.precision);
  for (const auto& [name, right] : references(in, rows, dout)) {
    const auto found = std::ranges::find(values, name, &NamedTensor::name);
    const bool gradient = name.starts_with("grad.");
    reference::compare(verification, name, found == values.end() ? at::Tensor() : found->tensor,
                       right, tolerance * (gradient ? reference::gradient_allowance : 1),
                       gradient ? floor_of(name, in, dout) : 0);
  }
  return verification;
}

class AttentionWorkload final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        integer_parameter("batch", 8, 1, 65536, "Sequences."),
        integer_parameter("heads", 1, 1, 1024, "Heads."),
        integer_parameter("seq_len", 1024, 1, 1 << 24, "Length of queries and keys."),
        integer_parameter("d_head", 64, 1, 1024, "Size of a head."),
        boolean_parameter("causal", true, "Whether a query sees only keys up to its own."),
        left_out_at_default(integer_parameter(
            "kv_heads", 0, 0, 1024,
            "Heads of k and v, which the queries' heads share in groups; 0: as many as heads.")),
        left_out_at_default(integer_parameter(
            "window", 0, 0, 1 << 24,
            "A query sees its own key and window - 1 on each side, or before it when causal; 0: "
            "all.")),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"inference", "forward", "backward", "forward_backward"};
    info.default_passes = {"forward", "backward", "forward_backward"};
    info.uses = {"attention", "precision", "compile"};
    info.metrics = {
        {"flops", "FLOP", Direction::neither,
         "Operations of the matrix products over the pairs the mask leaves, a multiply-add counted "
         "as two: forward 4 * pairs * d_head, backward 10 * pairs * d_head.",
         "(4 * runs_forward + 10 * runs_backward) * d_head * " + pairs_formula()},
        {"bytes", "byte", Direction::neither,
         "Size of the tensors that must be read or written, each counted once: forward q, k, v and "
         "out, backward q, out, dout and the gradients, with k and v.",
         "(2 * runs_forward + 4 * runs_backward) * (heads + if(kv_heads > 0, kv_heads, heads)) * "
         "batch * seq_len * d_head * element_size"},
    };
    info.default_clock = "cuda_event";
    return info;
  }

  // q, k, v and the output's gradient, the output, and three gradients; the attention adds its own.
  static std::string memory_estimate() {
    return "batch * seq_len * d_head * element_size * (heads * (3 + runs_backward) + "
           "if(kv_heads > 0, kv_heads, heads) * (2 + 2 * runs_backward)) + attention_memory";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<AttentionProgram>(context, draw(context));
  }

  // Checks all queries up to 4096, and a sample drawn after the call; of longer ones that alone.
  Verification verify(const CaseContext& context, const std::string& pass) override {
    const auto shape = shape_of(context);
    const bool backward = model::runs_backward(pass);
    const reference::PoisonedMemory poisoned(
        context.device, 8 * shape.elements() * static_cast<std::int64_t>(sizeof(float)));
    std::vector<NamedTensor> values;
    {
      AttentionProgram program(context, draw(context));
      values = reference::call_once(context, program, pass);
    }
    // The same inputs anew: a call may have changed its own.
    auto drawn = draw(context);
    if (!backward) drawn.dout = at::Tensor();
    reference::require_output(values, "out", drawn.in.q.scalar_type());
    const double tolerance = reference::tolerance(context.precision);
    for (const NamedTensor& value : values) {
      const std::string remark = reference::not_finite(value.tensor);
      if (remark.empty()) continue;
      return {true, std::numeric_limits<double>::infinity(), tolerance,
              value.name + ", which " + remark + ","};
    }
    Verification whole;
    if (shape.seq_len <= reference::whole_rows) {
      const auto rows = at::arange(shape.seq_len, at::TensorOptions().dtype(at::kLong));
      whole = compare(context, drawn.in, rows, drawn.dout, values);
      if (whole.error > whole.tolerance) return whole;
    }
    const auto sampled =
        compare_sample(drawn, values, tolerance, {reference::fresh_seed(), context.device});
    return whole.error * sampled.tolerance > sampled.error * whole.tolerance ? whole : sampled;
  }

  // A backward is checked on all queries, since all of them contribute to the keys' gradients.
  Verification verify_exchange(const CaseContext& context, const std::string& pass,
                               const Exchange& exchange) override {
    const auto shape = shape_of(context);
    const auto dtype = context.precision.compute();
    const auto input = [&](const char* name, const std::vector<std::int64_t>& sizes) {
      return reference::exchanged(exchange.inputs, name, sizes, dtype);
    };
    const auto output = [&](const char* name, const std::vector<std::int64_t>& sizes) {
      return NamedTensor{name, reference::exchanged(exchange.outputs, name, sizes, dtype)};
    };
    auto in = with_mask(shape);
    in.q = input("q", sizes_of(shape));
    in.k = input("k", kv_sizes_of(shape));
    in.v = input("v", kv_sizes_of(shape));
    std::vector<NamedTensor> values = {output("out", sizes_of(shape))};
    if (!model::runs_backward(pass)) {
      return compare(context, in, reference::rows_to_check(shape.seq_len, reference::fresh_seed()),
                     {}, values);
    }
    values.push_back(output("grad.q", sizes_of(shape)));
    values.push_back(output("grad.k", kv_sizes_of(shape)));
    values.push_back(output("grad.v", kv_sizes_of(shape)));
    const auto rows = at::arange(shape.seq_len, at::TensorOptions().dtype(at::kLong));
    return compare(context, in, rows, input("dout", sizes_of(shape)), values);
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::AttentionWorkload, "attention", "One call of an attention on random inputs.")
