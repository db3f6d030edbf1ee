#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <assay/attention.h>
#include <assay/reference.h>

#include <algorithm>

#include "conformance/attention_operation.h"

namespace assay::conformance {

namespace {

using Layout = AttentionLayout;
using Values = AttentionValues;
using Shape = AttentionShape;

Shape square(std::int64_t seq, bool causal, at::ScalarType dtype) {
  return {.seq_q = seq, .seq_k = seq, .causal = causal, .dtype = dtype};
}

struct TestedAttention {
  Shared<AttentionBoundary> plugin;

  Operation on(const Shape& shape) const {
    return attention_operation(plugin.get(), shape, plugin.device());
  }
};

Check over(std::string name, std::string sentence, std::vector<Shape> shapes,
           const std::function<CheckVerdict(const Shape&)>& judge) {
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const Shape& a, const Shape& b) { return a.elements() < b.elements(); });
  Check check{std::move(name), std::move(sentence), {}};
  for (const Shape& shape : shapes) {
    check.cases.push_back({text(shape), [judge, shape] { return judge(shape); }});
  }
  return check;
}

Check compared(const TestedAttention& tested, std::string name, std::string sentence,
               std::vector<Shape> shapes, bool with_gradients = true) {
  return over(std::move(name), std::move(sentence), std::move(shapes),
              [tested, with_gradients](const Shape& shape) {
                return agrees(tested.on(shape), with_gradients);
              });
}

// Checks that need just one dtype try both: many GPU variants lack fp32, CPU variants bf16.
constexpr at::ScalarType usual_dtypes[] = {at::kFloat, at::kBFloat16};

std::vector<Shape> lengths() {
  std::vector<Shape> shapes;
  for (const std::int64_t seq : {1, 2, 3, 17, 64, 65, 127, 128, 129, 257, 1031}) {
    for (const bool causal : {false, true}) {
      for (const auto dtype : floating_dtypes) shapes.push_back(square(seq, causal, dtype));
    }
  }
  return shapes;
}

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
          // Scores of 100: scores of 10,000 would cost an fp32 log-sum-exp its last digits.
          if (values == Values::beyond_fp16) shape.scale = 1e-3;
          shapes.push_back(shape);
        }
      }
    }
  }
  return shapes;
}

std::vector<Shape> grouped_shapes() {
  std::vector<Shape> shapes;
  const std::pair<std::int64_t, std::int64_t> heads[] = {{2, 1}, {4, 2}, {6, 3}, {8, 1}, {5, 1}};
  for (const auto& [queries, keys] : heads) {
    for (const std::int64_t seq : {1, 17, 65, 128}) {
      shapes.push_back({.batch = 2,
                        .heads = queries,
                        .seq_q = seq,
                        .seq_k = seq,
                        .d_head = 32,
                        .kv_heads = keys});
    }
  }
  for (const auto layout : {Layout::heads_last, Layout::mixed}) {
    shapes.push_back(
        {.batch = 2, .heads = 6, .seq_q = 33, .seq_k = 65, .layout = layout, .kv_heads = 2});
  }
  return varied(shapes);
}

std::vector<Shape> windowed_shapes() {
  std::vector<Shape> shapes;
  const std::pair<std::int64_t, std::int64_t> lengths[] = {
      {1, 1}, {17, 17}, {65, 65}, {129, 129}, {17, 65}, {65, 128}, {65, 17}, {257, 257}};
  for (const auto& [seq_q, seq_k] : lengths) {
    for (const std::int64_t window : {1, 2, 16, 63, 64, 300}) {
      shapes.push_back({.seq_q = seq_q, .seq_k = seq_k, .window = window});
    }
  }
  shapes.push_back({.heads = 4, .seq_q = 65, .seq_k = 65, .kv_heads = 2, .window = 16});
  return varied(shapes);
}

// Groups or a window that the variant does not declare must be refused before its forward.
CheckVerdict refuses(const TestedAttention& tested, const Shape& shape, bool AttentionTraits::*has,
                     const char* what) {
  AttentionBoundary& plugin = tested.plugin.get();
  AttentionTraits traits;
  throw_unless_ok(plugin.traits(traits));
  if (traits.*has) throw Unsupported(std::string("it declares ") + what);
  const Operation on = tested.on(shape);
  const AttentionInputs in =
      inputs_of(shape, {on.inputs[0].tensor, on.inputs[1].tensor, on.inputs[2].tensor});
  at::Tensor out;
  const Status status = plugin.forward(in, out);
  if (status.outcome == Outcome::unsupported) return {};
  return {.complaint = std::string("it does not declare ") + what + ", and takes it"};
}

Check undeclared(const TestedAttention& tested) {
  const Shape grouped = {.heads = 4, .seq_q = 17, .seq_k = 17, .kv_heads = 2};
  const Shape windowed = {.seq_q = 17, .seq_k = 17, .causal = true, .window = 4};
  return {"undeclared",
          "What it does not declare it refuses.",
          {{text(grouped),
            [tested, grouped] {
              return refuses(tested, grouped, &AttentionTraits::grouped, "grouped queries");
            }},
           {text(windowed), [tested, windowed] {
              return refuses(tested, windowed, &AttentionTraits::windowed, "a window");
            }}}};
}

// Compares lse where a query sees at least one key.
CheckVerdict log_sum_exp(const TestedAttention& tested, const Shape& shape) {
  AttentionBoundary& plugin = tested.plugin.get();
  AttentionTraits traits;
  throw_unless_ok(plugin.traits(traits));
  if (!traits.has_backward) throw Unsupported("it has no backward of its own");
  const Operation on = tested.on(shape);
  const AttentionInputs in =
      inputs_of(shape, {on.inputs[0].tensor, on.inputs[1].tensor, on.inputs[2].tensor});
  std::optional<std::string> reason;
  throw_unless_ok(plugin.unsupported(in, reason));
  if (reason) throw Unsupported(*reason);
  const auto reference = reference::attention(in);
  AttentionOutput output;
  throw_unless_ok(plugin.forward_with_lse(in, output));
  CheckVerdict verdict;
  const double tolerance = dtype_tolerance(shape.dtype);
  compare(verdict, {"out", reference.out, 0}, output.out, tolerance);
  const auto sees = reference.lse.isfinite();
  const auto seen = [&](const at::Tensor& lse) {
    const bool like = lse.defined() && lse.sizes() == reference.lse.sizes();
    return like ? at::where(sees, lse.to(at::kDouble), at::zeros_like(reference.lse)) : lse;
  };
  // lse is compared in fp32 and with a floor of 1: around log(seq_k) it may be 0.
  compare(verdict, {"lse", seen(reference.lse), 1}, seen(output.lse), tolerance);
  return verdict;
}

// State that the plugin keeps must not affect the next call, on another shape.
CheckVerdict after_others(const TestedAttention& tested, const Shape& shape) {
  Shape longer = shape;
  longer.seq_q += 40;
  longer.seq_k += 40;
  Shape other = shape;
  other.causal = !shape.causal;
  CheckVerdict verdict = agrees(tested.on(longer), true);
  for (const Shape& next : {shape, other, longer, shape}) {
    if (verdict.complaint.empty()) verdict = agrees(tested.on(next), true);
  }
  return verdict;
}

std::vector<NamedOperation> few_operations(const TestedAttention& tested) {
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
  const TestedAttention tested{Shared<AttentionBoundary>(subject)};
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
      compared(tested, "scale", "It uses the given scale.", scales()),
      compared(tested, "magnitudes",
               "Tiny, large and constant values, and one key far larger than the others.",
               magnitudes()),
      compared(tested, "grouped", "Fewer heads of k and v than of q.", grouped_shapes()),
      compared(tested, "windowed", "Queries see the keys of their window alone.",
               windowed_shapes()),
      undeclared(tested),
      over("log_sum_exp", "The lse of forward_with_lse agrees with float64.",
           varied({{.seq_q = 1, .seq_k = 1},
                   {.seq_q = 17, .seq_k = 3},
                   {.seq_q = 65, .seq_k = 65},
                   {.seq_q = 128, .seq_k = 129},
                   {.heads = 4, .seq_q = 65, .seq_k = 65, .kv_heads = 2},
                   {.seq_q = 65, .seq_k = 65, .window = 16}}),
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
