#include "accounting/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::accounting {

namespace {

constexpr const char* scaling_book = "Austin et al. 2025, How To Scale Your Model, part 5";
constexpr double never = std::numeric_limits<double>::infinity();

Values values_of(const Spread& s, double tokens = 0) {
  return {{"B", tokens},          {"d", s.d},      {"f", s.f},
          {"X", s.shards},        {"Y", s.tensor}, {"M_X", s.data_axes},
          {"M_Y", s.tensor_axes}, {"C", s.flops},  {"W", s.bandwidth}};
}

double alpha(const Spread& s) { return s.flops / s.bandwidth; }

}  // namespace

Quantities sharded_memory(double parameters, double activations, double shards, double limit) {
  const Values v = {{"P", parameters}, {"A", activations}, {"N", shards}, {"limit", limit}};
  const double half = activations / 2;
  const double spread = 16 * parameters + half;
  Quantities parts = {
      quantity("sharded", "byte", "16 * P + A / 2", v, spread,
               "Rajbhandari et al. 2020, section 5"),
      quantity("unsharded", "byte", "A / 2", v, half),
      quantity("device memory", "byte", "(16 * P + A / 2) / N + A / 2", v, spread / shards + half),
  };
  // The least whole N with (16 P + A / 2) / N < limit − A / 2.
  const double room = limit - half;
  if (room > 0) {
    parts.push_back(quantity("shards", "count", "floor((16 * P + A / 2) / (limit - A / 2)) + 1", v,
                             std::floor(spread / room) + 1));
  }
  return parts;
}

Quantities compute_bound(const Spread& s) {
  const Values v = values_of(s);
  const double a = alpha(s);
  const double overall = s.shards * a / s.data_axes;
  const double devices = s.shards * s.tensor;
  const double per_device = std::ceil(overall / devices);
  // Tensor's collectives take their share of the time that is left for data's.
  const double left = 1 - s.tensor * a / (s.tensor_axes * s.f);
  const double in_turn = left > 0 ? overall / left : never;
  Quantities parts = {
      quantity("alpha", "FLOP/byte", "C / W", v, a, scaling_book),
      quantity("tokens for the data axis", "token", "X * C / W / M_X", v, overall, scaling_book),
      quantity("largest tensor", "count", "M_Y * f * W / C", v, s.tensor_axes * s.f / a,
               scaling_book),
      quantity("device", "token", "ceil(C / W / M_X / Y)", v, per_device),
      quantity("overall", "token", "ceil(C / W / M_X / Y) * X * Y", v, per_device * devices),
  };
  if (std::isfinite(in_turn)) {
    const double slow_device = std::ceil(in_turn / devices);
    parts.push_back(quantity("device, collectives in turn", "token",
                             "ceil(C / W / M_X / Y / (1 - Y * C / W / M_Y / f))", v, slow_device));
    parts.push_back(quantity("overall, collectives in turn", "token",
                             "ceil(C / W / M_X / Y / (1 - Y * C / W / M_Y / f)) * X * Y", v,
                             slow_device * devices));
  }
  return parts;
}

Quantity roofline_tokens(const Machine& machine) {
  return quantity("tokens for the memory", "token", "C * 2 / (2 * W_memory)",
                  {{"C", machine.bf16_flops}, {"W_memory", machine.memory_bandwidth}},
                  machine.bf16_flops / machine.memory_bandwidth, "Williams et al. 2009");
}

std::vector<std::string> ways() { return {"dp", "fsdp", "tp", "fsdp and tp"}; }

namespace {

// Data parallelism, of the backward: 8 B d f FLOPs; gradients of two matrices, sent twice by the
// all-reduce.
Quantities of_dp(const Spread& s, const Values& v, double tokens) {
  const double compute = 8 * tokens * s.d * s.f / (s.shards * s.flops);
  const double sent = 2 * 2 * 2 * s.d * s.f / (s.bandwidth * s.data_axes);
  return {quantity("compute", "s", "8 * B * d * f / (X * C)", v, compute, scaling_book),
          quantity("communication", "s", "2 * 2 * 2 * d * f / (W * M_X)", v, sent, scaling_book),
          quantity("least tokens", "token", "X * C / (W * M_X)", v,
                   s.shards * alpha(s) / s.data_axes, scaling_book)};
}

// Of the forward: both matrices gathered in two bytes an element.
Quantities of_fsdp(const Spread& s, const Values& v, double tokens) {
  const double compute = 4 * tokens * s.d * s.f / (s.shards * s.flops);
  const double sent = 2 * 2 * s.d * s.f / (s.bandwidth * s.data_axes);
  return {quantity("compute", "s", "4 * B * d * f / (X * C)", v, compute, scaling_book),
          quantity("communication", "s", "2 * 2 * d * f / (W * M_X)", v, sent, scaling_book),
          quantity("least tokens", "token", "X * C / (W * M_X)", v,
                   s.shards * alpha(s) / s.data_axes, scaling_book)};
}

// Activations are gathered before the first product and reduced and scattered after the second.
Quantities of_tp(const Spread& s, const Values& v, double tokens) {
  const double compute = 4 * tokens * s.d * s.f / (s.tensor * s.flops);
  const double sent = 2 * 2 * tokens * s.d / (s.bandwidth * s.tensor_axes);
  return {quantity("compute", "s", "4 * B * d * f / (Y * C)", v, compute, scaling_book),
          quantity("communication", "s", "2 * 2 * B * d / (W * M_Y)", v, sent, scaling_book),
          quantity("largest tensor", "count", "M_Y * f * W / C", v, s.tensor_axes * s.f / alpha(s),
                   scaling_book)};
}

// Each over its own axes at the same time: the slower one counts.
Quantities of_both(const Spread& s, const Values& v, double tokens) {
  const double compute = 4 * tokens * s.d * s.f / (s.shards * s.tensor * s.flops);
  const double weights = 2 * 2 * s.d * s.f / (s.tensor * s.bandwidth * s.data_axes);
  const double activations = 2 * 2 * tokens * s.d / (s.shards * s.bandwidth * s.tensor_axes);
  return {quantity("compute", "s", "4 * B * d * f / (X * Y * C)", v, compute, scaling_book),
          quantity("communication", "s",
                   "max(2 * 2 * d * f / (Y * W * M_X), 2 * 2 * B * d / (X * W * M_Y))", v,
                   std::max(weights, activations), scaling_book),
          quantity("least tokens", "token", "X * C / (W * M_X)", v,
                   s.shards * alpha(s) / s.data_axes, scaling_book),
          quantity("largest tensor", "count", "M_Y * f * W / C", v, s.tensor_axes * s.f / alpha(s),
                   scaling_book)};
}

}  // namespace

Quantities bounds_of_way(const std::string& way, const Spread& s, double tokens) {
  const Values v = values_of(s, tokens);
  if (way == "dp") return of_dp(s, v, tokens);
  if (way == "fsdp") return of_fsdp(s, v, tokens);
  if (way == "tp") return of_tp(s, v, tokens);
  return of_both(s, v, tokens);
}

Quantity ring_all_reduce(double bytes, double devices, double bandwidth) {
  return quantity("ring all-reduce", "s", "2 * (n - 1) / n * bytes / W",
                  {{"n", devices}, {"bytes", bytes}, {"W", bandwidth}},
                  2 * (devices - 1) / devices * bytes / bandwidth,
                  "Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms");
}

}  // namespace assay::accounting
