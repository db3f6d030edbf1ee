#include "accounting/saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::accounting {

namespace {

bool is_unfused(const std::string& attention) {
  return attention == "math_libtorch" || attention == "naive";
}

Values shape_values(const Model& m, const Batch& batch, const Computing& computing) {
  return {
      {"T", batch.tokens()},
      {"B", batch.sequences},
      {"S", batch.seq_len},
      {"d", m.d},
      {"f", m.f},
      {"k", m.d_kv},
      {"H", m.heads},
      {"V", m.vocab},
      {"L", m.layers},
      {"G", computing.checkpoint_every > 0 ? std::ceil(m.layers / computing.checkpoint_every) : 0},
      {"e", computing.mixed ? 2.0 : 4.0}};
}

// Bytes of one norm with T rows: what it keeps beside its output.
std::pair<const char*, double> norm_bytes(const Model& m, double tokens, const Computing& by) {
  if (by.norm == "rmsnorm" || by.norm == "layernorm_basic") {
    return {"4 * T * (2 * d + 1)", 4 * tokens * (2 * m.d + 1)};
  }
  if (by.norm == "layernorm") return {"4 * T * (d + 2)", 4 * tokens * (m.d + 2)};
  return {"4 * T * (d + 1)", 4 * tokens * (m.d + 1)};
}

class SavedParts {
 public:
  SavedParts(const Model& m, const Batch& batch, const Computing& by)
      : m_(m), batch_(batch), by_(by), values_(shape_values(m, batch, by)) {}

  Quantities block() {
    if (m_.family == Family::ffn) {
      add("inputs of products", "e * T * (d + f)", e() * t() * (m_.d + m_.f));
    } else {
      add_norms();
      add_inputs();
      add_attention();
      add_feed_forward();
    }
    parts_.push_back(sum("block", parts_));
    return std::move(parts_);
  }

 private:
  double t() const { return batch_.tokens(); }
  double e() const { return by_.mixed ? 2 : 4; }

  void add(const char* name, const std::string& formula, double value) {
    parts_.push_back(quantity(name, "byte", formula, values_, value));
  }

  void add_norms() {
    const auto [formula, bytes] = norm_bytes(m_, t(), by_);
    add("norms", fmt::format("2 * {}", formula), 2 * bytes);
  }

  // Under autocast three copies for q, k, v, and two (gelu: one) for the feed-forward; in fp32 both
  // keep the norm's output itself.
  void add_inputs() {
    const double copies = !by_.mixed ? 2 : m_.family == Family::swiglu ? 5 : 4;
    add("inputs of products", fmt::format("{:.0f} * e * T * d", copies), copies * e() * t() * m_.d);
  }

  void add_attention() {
    const double rows = batch_.sequences * m_.heads * batch_.seq_len;
    const double matrix = rows * batch_.seq_len;
    const double width = by_.attention == "math_libtorch" ? 4 : e();
    add("q, k, v", fmt::format("{:.0f} * T * (d + 2 * k)", width),
        width * t() * (m_.d + 2 * m_.d_kv));
    if (!is_unfused(by_.attention)) {
      add("probabilities", "4 * B * H * S", 4 * rows);
    } else if (by_.attention == "naive" && by_.mixed && by_.on_cpu) {
      add("probabilities", "e * B * H * S^2", e() * matrix);
    } else if (by_.attention == "naive" && by_.mixed) {
      add("probabilities", "(4 + e) * B * H * S^2", (4 + e()) * matrix);
    } else {
      add("probabilities", "4 * B * H * S^2", 4 * matrix);
    }
    add("attention's output", "e * T * d", e() * t() * m_.d);
    if (m_.family != Family::swiglu) return;
    // Complex numbers of 8 bytes, one for each pair of a head's elements, for q and for k.
    add("rope", "2 * 8 * S * d / H / 2", 8 * batch_.seq_len * m_.d / m_.heads);
  }

  void add_feed_forward() {
    const double tensors = m_.family == Family::swiglu ? 4 : 2;
    add("feed-forward", fmt::format("{:.0f} * e * T * f", tensors), tensors * e() * t() * m_.f);
  }

  const Model& m_;
  const Batch& batch_;
  const Computing& by_;
  Values values_;
  Quantities parts_;
};

}  // namespace

Quantities saved_by_block(const Model& model, const Batch& batch, const Computing& computing) {
  return SavedParts(model, batch, computing).block();
}

namespace {

// Of all blocks, by part.
Quantities saved_by_blocks(const Model& m, const Batch& batch, const Computing& computing) {
  if (computing.checkpoint_every > 0) {
    const double groups = std::ceil(m.layers / computing.checkpoint_every);
    const double e = computing.mixed ? 2 : 4;
    return {quantity("checkpoints", "byte", "4 * G * T * d + e * (G - 1) * T * d",
                     shape_values(m, batch, computing),
                     (4 * groups + e * (groups - 1)) * batch.tokens() * m.d)};
  }
  Quantities parts = saved_by_block(m, batch, computing);
  parts.pop_back();
  for (Quantity& part : parts) {
    part.formula = "L * (" + part.formula + ")";
    part.substitution = fmt::format("{:.0f} * ({})", m.layers, part.substitution);
    part.value *= m.layers;
  }
  return parts;
}

}  // namespace

Quantities saved_by_part(const Model& m, const Batch& batch, const Computing& computing) {
  Quantities parts = saved_by_blocks(m, batch, computing);
  if (m.family != Family::ffn) {
    const Values v = shape_values(m, batch, computing);
    const double t = batch.tokens();
    const double e = computing.mixed ? 2 : 4;
    const auto [norm, bytes] = norm_bytes(m, t, computing);
    parts.push_back(quantity("last norm and head's input", "byte",
                             std::string(norm) + " + e * T * d", v, bytes + e * t * m.d));
    parts.push_back(quantity("log-probabilities", "byte", "4 * T * V", v, 4 * t * m.vocab));
  }
  parts.push_back(sum("saved for backward", parts));
  return parts;
}

Quantity copies_by_autocast(const Model& m, const Computing& computing) {
  if (!computing.mixed || m.family == Family::ffn) {
    return quantity("autocast's copies", "byte", "0", {}, 0);
  }
  const Quantities parameters = parameters_by_part(m);
  const double matrices = value_of(parameters, "attention") + value_of(parameters, "feed-forward");
  const Values v = {{"V", m.vocab}, {"d", m.d}, {"M", matrices}};
  if (computing.checkpoint_every > 0) {
    return quantity("autocast's copies", "byte", "2 * V * d", v, 2 * m.vocab * m.d);
  }
  return quantity("autocast's copies", "byte", "2 * (M + V * d)", v,
                  2 * (matrices + m.vocab * m.d));
}

std::string activation_formula(const Model& model, const Computing& computing) {
  const double copies = copies_by_autocast(model, computing).value;
  const auto saved = [&](double sequences, double tokens) {
    return saved_by_part(model, {sequences, tokens}, computing).back().value;
  };
  // Of B * (a * S + b * S^2) + c * S: what one more sequence adds at one and at two tokens, and
  // what is left.
  const double one = saved(2, 1) - saved(1, 1);
  const double two = saved(2, 2) - saved(1, 2);
  const double square = (two - 2 * one) / 2;
  const double linear = one - square;
  const double shared = saved(1, 1) - one;
  std::string text = square == 0 ? fmt::format("B * S * {:.0f}", linear)
                                 : fmt::format("B * ({:.0f} * S + {:.0f} * S^2)", linear, square);
  if (shared != 0) text += fmt::format(" + {:.0f} * S", shared);
  if (copies != 0) text += fmt::format(" + {:.0f}", copies);
  return text;
}

}  // namespace assay::accounting
