#include "conformance/compile_operations.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <assay/compile.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include "conformance/operation.h"
#include "conformance/tiny_model.h"
#include "model/textbook_ops.h"

namespace assay::conformance {

namespace {

constexpr double selected_tolerance = 1e-4;

// The textbook's in float32, as the variant leaves them.
class Selected {
 public:
  explicit Selected(const Subject& subject)
      : plugin_(subject.make<CompileBoundary>()), ops_(textbook_context(subject.device()).ops) {
    throw_unless_ok(plugin_->select(ops_, {}));
    model::complete(ops_);
  }
  const Ops& ops() const { return ops_; }

 private:
  std::unique_ptr<CompileBoundary> plugin_;  // destroyed last
  Ops ops_;
};

at::Tensor drawn(at::IntArrayRef sizes, const at::Device& device, std::uint64_t seed) {
  return at::randn(sizes, reference::seeded_generator(at::kCPU, seed),
                   at::TensorOptions(at::kFloat))
      .to(device);
}

// Matrices [rows, columns]; behind one another in memory, or each with a row between.
std::vector<at::Tensor> weights(const std::vector<std::int64_t>& rows, std::int64_t columns,
                                bool one_behind_another, const at::Device& device) {
  std::int64_t all = 0;
  for (const auto count : rows) all += count + 1;
  const at::Tensor memory = drawn({all, columns}, device, 31);
  std::vector<at::Tensor> made;
  std::int64_t first = 0;
  for (const auto count : rows) {
    made.push_back(memory.narrow(0, first, count).variable_data().requires_grad_());
    first += count + (one_behind_another ? 0 : 1);
  }
  return made;
}

using Product = std::function<std::vector<at::Tensor>(const Ops&, const at::Tensor& x,
                                                      const std::vector<at::Tensor>& weights)>;

std::vector<at::Tensor> qkv(const Ops& ops, const at::Tensor& x, const std::vector<at::Tensor>& w) {
  const Qkv made = ops.qkv(x, {w[0], w[1], w[2]});
  return {made.q, made.k, made.v};
}

std::vector<at::Tensor> gate_up(const Ops& ops, const at::Tensor& x,
                                const std::vector<at::Tensor>& w) {
  const GateUp made = ops.gate_up(x, {w[0], w[1]});
  return {made.gate, made.up};
}

// Outputs and gradients against a product each in float64.
CheckVerdict products_agree(const Subject& subject, const Product& product,
                            const std::vector<std::int64_t>& rows, bool one_behind_another) {
  const Selected selected(subject);
  const auto device = subject.device();
  const auto w = weights(rows, 32, one_behind_another, device);
  const auto x = drawn({2, 17, 32}, device, 32).requires_grad_();
  const auto made = product(selected.ops(), x, w);
  CheckVerdict verdict;
  at::Tensor dx;
  std::vector<at::Tensor> dweights, douts;
  for (std::size_t i = 0; i < w.size(); ++i) {
    douts.push_back(drawn({2, 17, rows[i]}, device, 33 + i));
    const auto right = reference::linear(x.detach(), w[i].detach(), douts[i]);
    compare(verdict, {"product " + std::to_string(i + 1), right.out, 0}, made[i],
            selected_tolerance);
    dx = dx.defined() ? dx + right.dx : right.dx;
    dweights.push_back(right.dweight);
  }
  if (!verdict.complaint.empty()) return verdict;
  torch::autograd::backward(made, douts);
  compare(verdict, {"grad.x", dx, 0}, x.grad(), 2 * selected_tolerance);
  for (std::size_t i = 0; i < w.size(); ++i) {
    compare(verdict, {"grad of weight " + std::to_string(i + 1), dweights[i], 0}, w[i].grad(),
            2 * selected_tolerance);
  }
  return verdict;
}

struct Limit {
  const char* text;
  double max_grad_norm;  // 0: none
  double given_norm;     // 0: the optimizer finds it
  at::ScalarType gradients = at::kFloat;
};

OptimizerInputs optimizer_inputs(const at::Device& device, const Limit& limit) {
  OptimizerInputs in;
  for (const std::uint64_t seed : {41, 42, 43}) {
    const auto parameter = drawn({5, static_cast<std::int64_t>(seed)}, device, seed);
    in.parameters.push_back(parameter);
    in.gradients.push_back(drawn(parameter.sizes(), device, 10 * seed).to(limit.gradients));
    in.first_moments.push_back(at::zeros_like(parameter));
    in.second_moments.push_back(at::zeros_like(parameter));
    in.steps.push_back(at::zeros({}, parameter.options()));
    in.low_precision.push_back(seed == 42 ? at::Tensor() : parameter.to(at::kBFloat16));
  }
  in.max_grad_norm = limit.max_grad_norm;
  if (limit.given_norm > 0) in.grad_norm = at::full({}, limit.given_norm, in.steps[0].options());
  return in;
}

// Two steps, since the first of AdamW hardly depends on the gradients' size; compared with the
// textbook's.
CheckVerdict optimizer_agrees(const Subject& subject, const Limit& limit) {
  const Selected selected(subject);
  const at::NoGradGuard no_grad;
  OptimizerInputs mine = optimizer_inputs(subject.device(), limit);
  OptimizerInputs right = optimizer_inputs(subject.device(), limit);
  const Ops textbook = model::textbook_ops();
  CheckVerdict verdict;
  for (const double factor : {1.0, 0.01}) {
    for (auto* in : {&mine, &right}) {
      for (std::size_t i = 0; i < in->gradients.size(); ++i) {
        in->gradients[i].copy_(drawn(in->gradients[i].sizes(), subject.device(), 50 + i) * factor);
      }
    }
    selected.ops().optimizer(mine);
    textbook.optimizer(right);
  }
  for (std::size_t i = 0; i < right.parameters.size(); ++i) {
    compare(verdict, {"parameter", right.parameters[i].to(at::kDouble), 0}, mine.parameters[i],
            selected_tolerance);
    compare(verdict, {"first moment", right.first_moments[i].to(at::kDouble), 0},
            mine.first_moments[i], selected_tolerance);
    if (!mine.low_precision[i].defined()) continue;
    compare(verdict,
            {"low-precision copy", mine.parameters[i].to(at::kBFloat16).to(at::kDouble), 0},
            mine.low_precision[i], selected_tolerance);
  }
  return verdict;
}

}  // namespace

std::vector<Check> selected_operation_checks(const Subject& subject) {
  Check products{"products", "Products of one x agree with float64, wherever the weights lie.", {}};
  for (const bool together : {true, false}) {
    const std::string where = together ? "one behind another" : "apart";
    products.cases.push_back({"q, k and v (fewer heads), weights " + where, [subject, together] {
                                return products_agree(subject, qkv, {32, 16, 16}, together);
                              }});
    products.cases.push_back({"gate and up, weights " + where, [subject, together] {
                                return products_agree(subject, gate_up, {48, 48}, together);
                              }});
  }
  Check optimizer{
      "optimizer",
      "The optimizer takes gradients, limits their norm and refreshes copies as the textbook's.",
      {}};
  for (const Limit& limit :
       {Limit{"no limit", 0, 0}, Limit{"a norm above the limit", 0.5, 0},
        Limit{"a norm below the limit", 1e6, 0}, Limit{"a norm that the caller knows", 0.5, 2000},
        Limit{"gradients in bf16", 0, 0, at::kBFloat16},
        Limit{"gradients in fp16, a norm above the limit", 0.5, 0, at::kHalf}}) {
    optimizer.cases.push_back(
        {limit.text, [subject, limit] { return optimizer_agrees(subject, limit); }});
  }
  return {std::move(products), std::move(optimizer)};
}

}  // namespace assay::conformance
