#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// The catalogue's transformer written a second time, in float64 and plain loops. Shares only the
// parameters' names with framework/model. One sequence at a time.
namespace plain {

struct Sizes {
  bool swiglu = true;       // else gelu
  bool layer_norm = false;  // else RMSNorm
  int d_model, d_ff, layers, heads, vocab_size;
  int kv_heads = heads;  // a divisor of heads
};

using Vector = std::vector<double>;
using Parameters = std::map<std::string, Vector>;  // row-major [out, in]

// [seq · vocab_size] logits of one sequence.
Vector logits(const Sizes& sizes, const Parameters& parameters, const std::vector<int>& tokens);

// Mean cross-entropy over all positions of all sequences.
double loss(const Sizes& sizes, const Parameters& parameters,
            const std::vector<std::vector<int>>& tokens,
            const std::vector<std::vector<int>>& targets);

}  // namespace plain
