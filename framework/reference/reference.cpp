#include "reference/reference.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/differentiable.h"
#include "model/random.h"
#include "model/textbook_ops.h"

namespace assay::model {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// True where query rows[i] must not see key j.
at::Tensor hidden_keys(const at::Tensor& rows, std::int64_t seq_q, std::int64_t seq_k) {
  const auto keys = at::arange(seq_k, rows.options());
  return keys.unsqueeze(0) > (rows + (seq_k - seq_q)).unsqueeze(1);
}

struct Head {
  at::Tensor q, k, v, dout;  // [rows, d_head] or [seq_k, d_head], float64
};

void attend_head(const Head& head, double scale, const at::Tensor& hidden,
                 AttentionReference& result, std::int64_t b, std::int64_t h) {
  auto scores = at::matmul(head.q, head.k.t()).mul_(scale);
  if (hidden.defined()) scores.masked_fill_(hidden, -infinity);
  const auto lse = at::logsumexp(scores, -1);
  const auto probabilities = at::exp(scores - lse.unsqueeze(-1)).nan_to_num_(0.0);
  const auto out = at::matmul(probabilities, head.v);
  result.out[b][h].copy_(out);
  result.lse[b][h].copy_(lse);
  if (!head.dout.defined()) return;

  // dP = dO Vᵀ; dS = P ∘ (dP − rowsum(dO ∘ O)); dQ = scale dS K; dK = scale dSᵀ Q; dV = Pᵀ dO.
  const auto dprobabilities = at::matmul(head.dout, head.v.t());
  const auto row_sums = (head.dout * out).sum(-1, /*keepdim=*/true);
  const auto dscores = probabilities * (dprobabilities - row_sums);
  result.dq[b][h].copy_(at::matmul(dscores, head.k).mul_(scale));
  result.dk[b][h].copy_(at::matmul(dscores.t(), head.q).mul_(scale));
  result.dv[b][h].copy_(at::matmul(probabilities.t(), head.dout));
}

}  // namespace

at::Tensor rows_to_check(std::int64_t seq_q, std::uint64_t seed) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  if (seq_q <= whole_rows) return at::arange(seq_q, options);
  const auto step = seq_q / sampled_rows;
  auto rows = at::arange(sampled_rows, options) * step +
              at::randint(0, step, {sampled_rows}, seeded_generator(at::kCPU, seed), options);
  rows[0] = 0;
  rows[sampled_rows - 1] = seq_q - 1;
  return rows;
}

AttentionReference attention_reference(const AttentionInputs& in, const at::Tensor& rows,
                                       const at::Tensor& dout) {
  const at::NoGradGuard no_grad;
  const auto device_rows = rows.to(in.q.device());
  const auto batch = in.q.size(0);
  const auto heads = in.q.size(1);
  const auto row_count = rows.size(0);
  const auto seq_k = in.k.size(2);
  const auto d_head = in.q.size(3);
  const auto options = in.q.options().dtype(at::kDouble).requires_grad(false);

  AttentionReference result;
  result.out = at::empty({batch, heads, row_count, d_head}, options);
  result.lse = at::empty({batch, heads, row_count}, options);
  if (dout.defined()) {
    result.dq = at::empty_like(result.out);
    result.dk = at::empty({batch, heads, seq_k, d_head}, options);
    result.dv = at::empty_like(result.dk);
  }
  const auto hidden = in.causal ? hidden_keys(device_rows, in.q.size(2), seq_k) : at::Tensor();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const Head head{in.q[b][h].index_select(0, device_rows).to(at::kDouble),
                      in.k[b][h].to(at::kDouble), in.v[b][h].to(at::kDouble),
                      dout.defined() ? dout[b][h].to(at::kDouble) : at::Tensor()};
      attend_head(head, in.scale, hidden, result, b, h);
    }
  }
  return result;
}

at::Tensor reference_attention(const AttentionInputs& in) {
  auto scores = at::matmul(in.q, in.k.transpose(-2, -1)) * in.scale;
  if (in.causal) {
    const auto rows =
        at::arange(in.q.size(2), at::TensorOptions().dtype(at::kLong).device(in.q.device()));
    scores = scores.masked_fill(hidden_keys(rows, in.q.size(2), in.k.size(2)), -infinity);
  }
  return at::matmul(at::softmax(scores, -1), in.v);
}

at::Tensor reference_norm(const NormInputs& in, bool centred) {
  auto x = in.x.to(at::kDouble);
  if (centred) x = x - x.mean(-1, /*keepdim=*/true);
  const auto mean_square = (x * x).mean(-1, /*keepdim=*/true);
  const auto normed = x * at::rsqrt(mean_square + in.eps) * in.weight.to(at::kDouble);
  return in.bias.defined() ? normed + in.bias.to(at::kDouble) : normed;
}

Ops reference_ops(bool norm_has_bias) {
  Ops ops = textbook_ops();
  ops.attention = reference_attention;
  ops.norm = [norm_has_bias](const NormInputs& in) {
    return reference_norm(in, norm_has_bias).to(in.x.scalar_type());
  };
  ops.norm_has_bias = norm_has_bias;
  return ops;
}

namespace {

constexpr std::int64_t widened_at_once = std::int64_t{1} << 22;

}  // namespace

Deviation deviation(const at::Tensor& value, const at::Tensor& reference, double floor) {
  if (reference.numel() == 0) return {};
  const at::NoGradGuard no_grad;
  const std::int64_t columns = reference.dim() == 0 ? 1 : reference.size(-1);
  const auto given = value.detach().reshape({-1, columns});
  const auto right = reference.detach().reshape({-1, columns});
  std::vector<at::Tensor> apart, scales;  // of the rows, in pieces
  const auto rows = right.size(0);
  const auto step = std::max<std::int64_t>(1, widened_at_once / columns);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const auto count = std::min(step, rows - begin);
    const auto expected = right.narrow(0, begin, count).to(at::kDouble);
    scales.push_back(at::linalg_vector_norm(expected, 2, at::IntArrayRef{1}));
    const auto difference = given.narrow(0, begin, count).to(at::kDouble) - expected;
    apart.push_back(at::linalg_vector_norm(difference, 2, at::IntArrayRef{1}));
  }
  const auto distances = at::cat(apart);
  const auto norms = at::cat(scales);

  Deviation found;
  const double distance = distances.norm().item<double>();
  if (!std::isfinite(distance)) return {infinity, infinity, 0};
  const double root = std::sqrt(static_cast<double>(rows));
  const double least = floor * std::sqrt(static_cast<double>(columns));  // of a row
  const double typical = std::max(norms.norm().item<double>() / root, least);
  found.whole = typical > 0 ? distance / (typical * root) : distance;
  if (typical <= 0) return found;
  const auto ratios = distances / norms.clamp_min(typical);
  found.where = ratios.argmax().item<std::int64_t>();
  found.row = ratios[found.where].item<double>();
  return found;
}

double relative_error(const at::Tensor& value, const at::Tensor& reference) {
  return deviation(value, reference).whole;
}

double tolerance(const PrecisionPolicy& precision) {
  switch (precision.compute()) {
    case at::kDouble:
      return 1e-10;
    case at::kFloat:
      return precision.tf32 ? 5e-3 : 1e-4;
    case at::kHalf:
      return 5e-3;
    default:
      return 2e-2;
  }
}

namespace {

// Why the values cannot be compared; "" if they can.
std::string incomparable(const at::Tensor& value, const at::Tensor& reference) {
  if (!value.defined()) return "is undefined";
  if (value.device() != reference.device()) {
    return fmt::format("is on the device {}, not {}", value.device().str(),
                       reference.device().str());
  }
  if (value.sizes() != reference.sizes()) {
    return fmt::format("has the shape {}, not {}", shape_text(value.sizes()),
                       shape_text(reference.sizes()));
  }
  return {};
}

// "row [0, 2, 17] of out".
std::string row_text(const std::string& name, std::int64_t row, const at::Tensor& tensor) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim() - 1));
  for (auto place = index.rbegin(); place != index.rend(); ++place) {
    const auto size = tensor.size(std::distance(place, index.rend()) - 1);
    *place = row % size;
    row /= size;
  }
  return fmt::format("row {} of {}", shape_text(index), name);
}

std::string not_finite(const at::Tensor& value) {
  if (value.isnan().any().item<bool>()) return "holds NaN";
  return value.isinf().any().item<bool>() ? "holds infinity" : "";
}

}  // namespace

void compare(Verification& verification, const std::string& name, const at::Tensor& value,
             const at::Tensor& reference, double tolerance) {
  std::string remark = incomparable(value, reference);
  const Deviation found =
      remark.empty() ? deviation(value, reference) : Deviation{infinity, infinity, 0};
  if (remark.empty() && found.whole == infinity) remark = not_finite(value);
  std::string what = remark.empty() ? name : fmt::format("{}, which {},", name, remark);
  double error = found.whole;
  if (error <= tolerance && reference.dim() > 1 && found.row > row_allowance * tolerance) {
    what = row_text(name, found.where, reference);
    error = found.row;
    tolerance *= row_allowance;
  }
  // Keeps the comparison nearest to, or farthest beyond, its own tolerance.
  const bool first = !verification.checked;
  if (first || error * verification.tolerance > verification.error * tolerance) {
    verification.error = error;
    verification.tolerance = tolerance;
    verification.worst = std::move(what);
  }
  verification.checked = true;
}

void compare_all(Verification& verification, const std::vector<NamedTensor>& values,
                 const std::vector<NamedTensor>& references, double tolerance,
                 double gradient_allowance) {
  for (const auto& [name, reference] : references) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const NamedTensor& value) { return value.name == name; });
    const bool gradient = name.starts_with("grad.");
    compare(verification, name, found == values.end() ? at::Tensor() : found->tensor, reference,
            gradient ? gradient_allowance * tolerance : tolerance);
  }
}

void require_dtype(const NamedTensor& value, at::ScalarType dtype) {
  if (value.tensor.scalar_type() == dtype) return;
  throw PluginFailure({Outcome::wrong, fmt::format("{} has the dtype {}, not {}", value.name,
                                                   c10::toString(value.tensor.scalar_type()),
                                                   c10::toString(dtype))});
}

}  // namespace assay::model
