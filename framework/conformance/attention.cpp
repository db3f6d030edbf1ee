#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <assay/attention.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/operation.h"
#include "model/differentiable.h"
#include "model/random.h"
#include "model/reference.h"

namespace assay::conformance {

namespace {

// How q, k and v lie in memory; d_head is contiguous in all of them.
enum class Layout { contiguous, heads_last, packed, every_second, padded, expanded, mixed };
enum class Values { normal, tiny, large, beyond_fp16, constant, zero, large_key, shifted };

const char* text(Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::heads_last:
      return "stored as [batch, seq, heads, d_head]";
    case Layout::packed:
      return "slices of one [batch, seq, 3, heads, d_head]";
    case Layout::every_second:
      return "every second row of a longer tensor";
    case Layout::padded:
      return "rows 8 elements apart from each other";
    case Layout::expanded:
      return "one head of k and v for all (stride 0)";
    case Layout::mixed:
      return "q, k, v and the gradient each with other strides";
  }
  return "";
}

const char* text(Values values) {
  switch (values) {
    case Values::normal:
      return "normal values";
    case Values::tiny:
      return "values around 0.001";
    case Values::large:
      return "values around 10";
    case Values::beyond_fp16:
      return "q and k all 40: q kᵀ is beyond fp16's range, scale · q kᵀ is not";
    case Values::constant:
      return "all values 0.5";
    case Values::zero:
      return "all values 0";
    case Values::large_key:
      return "one key 30 times as large";
    case Values::shifted:
      return "values around 3";
  }
  return "";
}

struct Shape {
  std::int64_t batch = 1;
  std::int64_t heads = 2;
  std::int64_t seq_q = 0;
  std::int64_t seq_k = 0;
  std::int64_t d_head = 64;
  bool causal = false;
  at::ScalarType dtype = at::kFloat;
  double scale = 0;  // 0: 1 / sqrt(d_head)
  Layout layout = Layout::contiguous;
  Values values = Values::normal;

  std::int64_t elements() const { return batch * heads * (seq_q + seq_k) * d_head; }
  double used_scale() const {
    return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(d_head));
  }
};

Shape square(std::int64_t seq, bool causal, at::ScalarType dtype) {
  return {.seq_q = seq, .seq_k = seq, .causal = causal, .dtype = dtype};
}

std::string text(const Shape& shape) {
  std::string words = fmt::format("batch {}, heads {}, ", shape.batch, shape.heads);
  words += shape.seq_q == shape.seq_k ? fmt::format("seq {}", shape.seq_q)
                                      : fmt::format("seq_q {}, seq_k {}", shape.seq_q, shape.seq_k);
  words += fmt::format(", d_head {}, {}, {}", shape.d_head, shape.causal ? "causal" : "not causal",
                       dtype_text(shape.dtype));
  if (shape.scale > 0) words += fmt::format(", scale {:.3g}", shape.scale);
  if (shape.layout != Layout::contiguous) words += fmt::format(", {}", text(shape.layout));
  if (shape.values != Values::normal) words += fmt::format(", {}", text(shape.values));
  return words;
}

at::Tensor with_layout(const at::Tensor& x, Layout layout, int slot) {
  const auto sizes = x.sizes().vec();  // [batch, heads, seq, d_head]
  const auto options = x.options();
  const auto stored = [&](const at::Tensor& view) { return view.copy_(x); };
  switch (layout) {
    case Layout::contiguous:
      return x;
    case Layout::heads_last:
      return stored(at::empty({sizes[0], sizes[2], sizes[1], sizes[3]}, options).transpose(1, 2));
    case Layout::packed:
      return stored(at::empty({sizes[0], sizes[2], 3, sizes[1], sizes[3]}, options)
                        .select(2, slot % 3)
                        .transpose(1, 2));
    case Layout::every_second:
      return stored(
          at::empty({sizes[0], sizes[1], 2 * sizes[2], sizes[3]}, options).slice(2, 0, {}, 2));
    case Layout::padded:
      return stored(
          at::empty({sizes[0], sizes[1], sizes[2], sizes[3] + 8}, options).narrow(3, 0, sizes[3]));
    case Layout::expanded:
      return slot == 1 || slot == 2 ? x.narrow(1, 0, 1).contiguous().expand(sizes) : x;
    case Layout::mixed:
      return with_layout(x,
                         slot == 0   ? Layout::padded
                         : slot == 1 ? Layout::heads_last
                         : slot == 2 ? Layout::every_second
                                     : Layout::heads_last,
                         slot);
  }
  return x;
}

// slot: 0 q, 1 k, 2 v, 3 the output's gradient.
at::Tensor with_values(at::Tensor x, Values values, int slot) {
  switch (values) {
    case Values::tiny:
      return x.mul_(1e-3);
    case Values::large:
      return x.mul_(10);
    case Values::beyond_fp16:
      return slot < 2 ? x.fill_(40) : x;
    case Values::constant:
      return x.fill_(0.5);
    case Values::zero:
      return slot < 3 ? x.zero_() : x;
    case Values::large_key:
      if (slot == 1) x.select(2, 0).mul_(30);
      return x;
    case Values::shifted:
      return x.add_(3);
    default:
      return x;
  }
}

at::Tensor textbook(const AttentionInputs& in) {
  auto scores = at::matmul(in.q * in.scale, in.k.transpose(-2, -1));
  if (in.causal) {
    const auto options = in.q.options().dtype(at::kBool).requires_grad(false);
    const auto hidden =
        at::ones({in.q.size(2), in.k.size(2)}, options).triu_(in.k.size(2) - in.q.size(2) + 1);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::_safe_softmax(scores, -1), in.v);
}

// Where the terms of a gradient cancel out, as with one key alone, its rounding errors are those of
// the terms: dS = P ∘ (dO Vᵀ − rowsum(dO ∘ O)) with P around 1 / seq_k.
std::vector<Expected> reference(const AttentionInputs& in, const at::Tensor& dout) {
  auto found =
      model::attention_reference(in, at::arange(in.q.size(2), at::TensorOptions(at::kLong)), dout);
  const double q = root_mean_square(in.q), k = root_mean_square(in.k), v = root_mean_square(in.v);
  const auto seq_q = static_cast<double>(in.q.size(2));
  const auto seq_k = static_cast<double>(in.k.size(2));
  const double dp =
      root_mean_square(dout) * v * std::sqrt(static_cast<double>(in.q.size(3))) * in.scale;
  return {{"out", found.out, v / std::sqrt(seq_k)},
          {"grad.q", found.dq, dp * k / std::sqrt(seq_k)},
          {"grad.k", found.dk, dp * q * std::sqrt(seq_q) / seq_k},
          {"grad.v", found.dv, root_mean_square(dout) * std::sqrt(seq_q) / seq_k}};
}

Operation operation(AttentionBoundary& plugin, const Shape& shape, const at::Device& device) {
  const auto generator = model::seeded_generator(at::kCPU, 11);
  const auto random = [&](std::int64_t seq, int slot) {
    auto x = at::randn({shape.batch, shape.heads, seq, shape.d_head}, generator,
                       at::TensorOptions(at::kDouble));
    x = with_values(x, shape.values, slot).to(device, shape.dtype);
    return with_layout(x, shape.layout, slot);
  };
  const auto q = random(shape.seq_q, 0);
  const auto k = random(shape.seq_k, 1);
  const auto v = random(shape.seq_k, 2);
  Operation made;
  made.inputs = {{"q", q}, {"k", k}, {"v", v}};
  made.dout = random(shape.seq_q, 3);
  made.tolerance = dtype_tolerance(shape.dtype);
  const auto inputs = [causal = shape.causal,
                       scale = shape.used_scale()](const std::vector<at::Tensor>& x) {
    return AttentionInputs{x[0], x[1], x[2], causal, scale};
  };
  made.call = [inputs, call = model::differentiable(plugin)](const std::vector<at::Tensor>& x) {
    return call(inputs(x));
  };
  made.textbook = [inputs](const std::vector<at::Tensor>& x) { return textbook(inputs(x)); };
  made.reference = [in = inputs({q, k, v}), dout = made.dout] { return reference(in, dout); };
  return made;
}

// Shared by every case.
struct Tested {
  Shared<AttentionBoundary> plugin;

  Operation on(const Shape& shape) const { return operation(plugin.get(), shape, plugin.device()); }
};

Check over(std::string name, std::string sentence, std::vector<Shape> shapes,
           const std::function<Verdict(const Shape&)>& judge) {
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const Shape& a, const Shape& b) { return a.elements() < b.elements(); });
  Check check{std::move(name), std::move(sentence), {}};
  for (const Shape& shape : shapes) {
    check.cases.push_back({text(shape), [judge, shape] { return judge(shape); }});
  }
  return check;
}

Check compared(const Tested& tested, std::string name, std::string sentence,
               std::vector<Shape> shapes, bool with_gradients = true) {
  return over(std::move(name), std::move(sentence), std::move(shapes),
              [tested, with_gradients](const Shape& shape) {
                return agrees(tested.on(shape), with_gradients);
              });
}

constexpr at::ScalarType dtypes[] = {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble};
// On CPUs fp32, on GPUs often one of the others alone: what only needs some dtype tries two.
constexpr at::ScalarType usual_dtypes[] = {at::kFloat, at::kBFloat16};

std::vector<Shape> lengths() {
  std::vector<Shape> shapes;
  for (const std::int64_t seq : {1, 2, 3, 17, 64, 65, 127, 128, 129, 257, 1031}) {
    for (const bool causal : {false, true}) {
      for (const auto dtype : dtypes) shapes.push_back(square(seq, causal, dtype));
    }
  }
  return shapes;
}

// Every shape as it is, causal and not, in the usual dtypes.
std::vector<Shape> varied(const std::vector<Shape>& shapes) {
  std::vector<Shape> all;
  for (Shape shape : shapes) {
    for (const bool causal : {false, true}) {
      for (const auto dtype : usual_dtypes) {
        shape.causal = causal;
        shape.dtype = dtype;
        all.push_back(shape);
      }
    }
  }
  return all;
}

std::vector<Shape> unequal_lengths() {
  return varied({{.seq_q = 1, .seq_k = 2},
                 {.seq_q = 3, .seq_k = 17},
                 {.seq_q = 1, .seq_k = 129},
                 {.seq_q = 64, .seq_k = 65},
                 {.seq_q = 65, .seq_k = 128},
                 {.seq_q = 127, .seq_k = 257},
                 {.seq_q = 1, .seq_k = 1031}});
}

std::vector<Shape> more_queries() {
  return varied({{.seq_q = 2, .seq_k = 1},
                 {.seq_q = 17, .seq_k = 3},
                 {.seq_q = 65, .seq_k = 64},
                 {.seq_q = 129, .seq_k = 65},
                 {.seq_q = 257, .seq_k = 1}});
}

std::vector<Shape> head_sizes() {
  std::vector<Shape> shapes;
  for (const std::int64_t d_head : {8, 16, 24, 32, 64, 80, 96, 128, 192, 256}) {
    for (const std::int64_t seq : {17, 128}) {
      shapes.push_back({.seq_q = seq, .seq_k = seq, .d_head = d_head});
    }
  }
  return varied(shapes);
}

std::vector<Shape> batches() {
  std::vector<Shape> shapes;
  const std::pair<std::int64_t, std::int64_t> counts[] = {{1, 1}, {2, 1}, {1, 3},
                                                          {3, 5}, {7, 2}, {2, 33}};
  for (const auto& [batch, heads] : counts) {
    shapes.push_back({.batch = batch, .heads = heads, .seq_q = 33, .seq_k = 33, .d_head = 32});
  }
  return varied(shapes);
}

std::vector<Shape> layouts() {
  std::vector<Shape> shapes;
  for (const std::int64_t seq : {5, 65, 128}) {
    for (const auto layout : {Layout::heads_last, Layout::packed, Layout::every_second,
                              Layout::padded, Layout::expanded, Layout::mixed}) {
      shapes.push_back({.batch = 2, .heads = 3, .seq_q = seq, .seq_k = seq, .layout = layout});
    }
  }
  return varied(shapes);
}

std::vector<Shape> scales() {
  std::vector<Shape> shapes;
  for (const double scale : {0.01, 0.3, 1.0}) {
    for (const std::int64_t seq : {3, 65}) {
      shapes.push_back({.seq_q = seq, .seq_k = seq, .scale = scale});
    }
  }
  return varied(shapes);
}

std::vector<Shape> magnitudes() {
  std::vector<Shape> shapes;
  for (const std::int64_t seq : {3, 65, 128}) {
    for (const auto values : {Values::tiny, Values::large, Values::beyond_fp16, Values::constant,
                              Values::zero, Values::large_key, Values::shifted}) {
      for (const bool causal : {false, true}) {
        for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
          Shape shape = square(seq, causal, dtype);
          shape.values = values;
          // Scores of 100: those of 10,000 would cost any fp32 log-sum-exp its last digits.
          if (values == Values::beyond_fp16) shape.scale = 1e-3;
          shapes.push_back(shape);
        }
      }
    }
  }
  return shapes;
}

// lse of a variant with a backward of its own, where a query sees a key at all.
Verdict log_sum_exp(const Tested& tested, const Shape& shape) {
  AttentionBoundary& plugin = tested.plugin.get();
  bool has_backward = false;
  bool differentiable = false;
  throw_unless_ok(plugin.traits(has_backward, differentiable));
  if (!has_backward) throw Unsupported("it has no backward of its own");
  const Operation on = tested.on(shape);
  const AttentionInputs in = {on.inputs[0].tensor, on.inputs[1].tensor, on.inputs[2].tensor,
                              shape.causal, shape.used_scale()};
  std::optional<std::string> reason;
  throw_unless_ok(plugin.unsupported(in, reason));
  if (reason) throw Unsupported(*reason);
  const auto rows = at::arange(shape.seq_q, at::TensorOptions(at::kLong));
  const auto reference = model::attention_reference(in, rows, {});
  AttentionOutput output;
  throw_unless_ok(plugin.forward_with_lse(in, output));
  Verdict verdict;
  const double tolerance = dtype_tolerance(shape.dtype);
  compare(verdict, {"out", reference.out, 0}, output.out, tolerance);
  const auto sees = reference.lse.isfinite();
  const auto seen = [&](const at::Tensor& lse) {
    const bool like = lse.defined() && lse.sizes() == reference.lse.sizes();
    return like ? at::where(sees, lse.to(at::kDouble), at::zeros_like(reference.lse)) : lse;
  };
  // In fp32 and around log(seq_k), where it may be 0.
  compare(verdict, {"lse", seen(reference.lse), 1}, seen(output.lse), tolerance);
  return verdict;
}

// Whatever the plugin keeps from one call must not show in the next, on another shape.
Verdict after_others(const Tested& tested, const Shape& shape) {
  Shape longer = shape;
  longer.seq_q += 40;
  longer.seq_k += 40;
  Shape other = shape;
  other.causal = !shape.causal;
  Verdict verdict = agrees(tested.on(longer), true);
  for (const Shape& next : {shape, other, longer, shape}) {
    if (verdict.complaint.empty()) verdict = agrees(tested.on(next), true);
  }
  return verdict;
}

std::vector<NamedOperation> few_operations(const Tested& tested) {
  std::vector<NamedOperation> operations;
  for (const std::int64_t seq : {1, 17, 65, 128}) {
    for (const auto dtype : usual_dtypes) {
      Shape shape = square(seq, true, dtype);
      shape.layout = Layout::heads_last;
      operations.push_back({text(shape), [tested, shape] { return tested.on(shape); }});
    }
  }
  return operations;
}

}  // namespace

std::vector<Check> attention_checks(const Subject& subject) {
  const Tested tested{Shared<AttentionBoundary>(subject)};
  std::vector<Check> checks = {
      compared(tested, "forward", "The output agrees with float64 at awkward lengths.", lengths(),
               false),
      compared(tested, "gradients", "dq, dk and dv agree with float64 at awkward lengths.",
               lengths()),
      compared(tested, "unequal_lengths",
               "More keys than queries: the last query sees the last "
               "key.",
               unequal_lengths()),
      compared(tested, "more_queries",
               "More queries than keys: under a mask a query that sees no key gives 0.",
               more_queries()),
      compared(tested, "head_sizes", "Head sizes from 8 to 256, 24 and 80 among them.",
               head_sizes()),
      compared(tested, "batches", "Batches and heads do not mix.", batches()),
      compared(tested, "strides", "Inputs and output gradient with any strides.", layouts()),
      compared(tested, "scale", "The scale it is given is the one it uses.", scales()),
      compared(tested, "magnitudes",
               "Tiny, large and constant values, and one key far larger than the others.",
               magnitudes()),
      over("log_sum_exp", "The lse of forward_with_lse agrees with float64.",
           varied({{.seq_q = 1, .seq_k = 1},
                   {.seq_q = 17, .seq_k = 3},
                   {.seq_q = 65, .seq_k = 65},
                   {.seq_q = 128, .seq_k = 129}}),
           [tested](const Shape& shape) { return log_sum_exp(tested, shape); }),
      over("changing_shapes", "A call does not depend on the calls before it.",
           varied({{.seq_q = 3, .seq_k = 3}, {.seq_q = 65, .seq_k = 65}}),
           [tested](const Shape& shape) { return after_others(tested, shape); }),
  };
  for (Check& check : common_operation_checks(few_operations(tested), subject.device())) {
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace assay::conformance
