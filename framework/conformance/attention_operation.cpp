#include "conformance/attention_operation.h"

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "model/differentiable.h"
#include "model/random.h"

namespace assay::conformance {

namespace {

using Layout = AttentionLayout;
using Values = AttentionValues;

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
  const auto group = in.q.size(1) / in.k.size(1);
  const auto of_each_head = [&](const at::Tensor& x) {
    return group == 1 ? x : x.repeat_interleave(group, 1);
  };
  auto scores = at::matmul(in.q * in.scale, of_each_head(in.k).transpose(-2, -1));
  if (const auto hidden = hidden_keys(in); hidden.defined()) {
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::_safe_softmax(scores, -1), of_each_head(in.v));
}

// Where a gradient's terms cancel out, as with a single key, its rounding errors are those of the
// terms: dS = P ∘ (dO Vᵀ − rowsum(dO ∘ O)) with P around 1 / (keys that a query sees). k and v sum
// over the queries that see them, of all heads of a group.
std::vector<Expected> reference(const AttentionInputs& in, const at::Tensor& dout) {
  auto found = reference::attention(in, dout);
  const double q = root_mean_square(in.q), k = root_mean_square(in.k), v = root_mean_square(in.v);
  const auto within = [&](std::int64_t length) {
    if (in.window <= 0) return static_cast<double>(length);
    return static_cast<double>(std::min(length, in.causal ? in.window : 2 * in.window - 1));
  };
  const double keys = within(in.k.size(2));
  const double queries = within(in.q.size(2)) * static_cast<double>(in.q.size(1) / in.k.size(1));
  const double dp =
      root_mean_square(dout) * v * std::sqrt(static_cast<double>(in.q.size(3))) * in.scale;
  return {{"out", found.out, v / std::sqrt(keys)},
          {"grad.q", found.dq, dp * k / std::sqrt(keys)},
          {"grad.k", found.dk, dp * q * std::sqrt(queries) / keys},
          {"grad.v", found.dv, root_mean_square(dout) * std::sqrt(queries) / keys}};
}

}  // namespace

std::string text(const AttentionShape& shape) {
  std::string words = fmt::format("batch {}, heads {}, ", shape.batch, shape.heads);
  if (shape.kv_heads > 0) words += fmt::format("kv_heads {}, ", shape.kv_heads);
  words += shape.seq_q == shape.seq_k ? fmt::format("seq {}", shape.seq_q)
                                      : fmt::format("seq_q {}, seq_k {}", shape.seq_q, shape.seq_k);
  words += fmt::format(", d_head {}, {}, {}", shape.d_head, shape.causal ? "causal" : "not causal",
                       dtype_text(shape.dtype));
  if (shape.window > 0) words += fmt::format(", window {}", shape.window);
  if (shape.scale > 0) words += fmt::format(", scale {:.3g}", shape.scale);
  if (shape.layout != Layout::contiguous) words += fmt::format(", {}", text(shape.layout));
  if (shape.values != Values::normal) words += fmt::format(", {}", text(shape.values));
  return words;
}

AttentionInputs inputs_of(const AttentionShape& shape, const std::vector<at::Tensor>& qkv) {
  return {qkv[0], qkv[1], qkv[2], shape.causal, shape.used_scale(), shape.window};
}

Operation attention_operation(AttentionBoundary& plugin, const AttentionShape& shape,
                              const at::Device& device) {
  const auto generator = model::seeded_generator(at::kCPU, 11);
  const auto random = [&](std::int64_t seq, int slot) {
    const auto heads = slot == 1 || slot == 2 ? shape.used_kv_heads() : shape.heads;
    auto x = at::randn({shape.batch, heads, seq, shape.d_head}, generator,
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
  const auto inputs = [shape](const std::vector<at::Tensor>& x) { return inputs_of(shape, x); };
  made.call = [inputs, call = model::differentiable(plugin)](const std::vector<at::Tensor>& x) {
    return call(inputs(x));
  };
  made.textbook = [inputs](const std::vector<at::Tensor>& x) { return textbook(inputs(x)); };
  made.reference = [in = inputs({q, k, v}), dout = made.dout] { return reference(in, dout); };
  return made;
}

}  // namespace assay::conformance
