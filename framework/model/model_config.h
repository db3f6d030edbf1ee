#pragma once

#include <assay/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::model {

// swiglu: RoPE, SwiGLU with three matrices, separate embedding and head.
// gelu: learned positions, GELU feed-forward with two matrices, head tied to the embedding.
// Both: pre-norm, no biases in the projections.
enum class Architecture { swiglu, gelu };

// Throws std::invalid_argument for any other text.
Architecture architecture_from_text(std::string_view text);

struct ModelConfig {
  Architecture architecture = Architecture::swiglu;
  std::int64_t d_model = 0;
  std::int64_t d_ff = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // heads of k and v; 0: as many as of q
  std::int64_t vocab_size = 0;
  std::int64_t context = 0;    // longest sequence: rows of the position tables
  bool norm_has_bias = false;  // LayerNorm
  double rope_theta = 10000;
  double norm_eps = 1e-5;

  std::int64_t d_head() const { return d_model / heads; }
  std::int64_t used_kv_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t d_kv() const { return used_kv_heads() * d_head(); }  // width of k and v
};

// Fields of a file under configs/models/: d_model, d_ff, layers, heads, vocab_size, and kv_heads
// where it is not heads.
std::vector<ParameterInfo> model_fields();

// Throws std::invalid_argument for a missing field, a size below 1, a d_model that heads do not
// divide, heads that kv_heads do not divide, and an odd head size under RoPE.
ModelConfig model_config(const Options& fields, Architecture architecture, std::int64_t context);

// near_one: of norms; at 1 itself one that leaves its weight out would be right.
enum class Initial { normal, near_one };

struct ParameterShape {
  std::string name;  // "blocks.0.attention.q.weight"
  std::vector<std::int64_t> sizes;
  Initial initial = Initial::normal;
  std::string group = {};  // those of one group lie one behind another in memory (joined())
};

// Every parameter once, in the order of use. Matrices are [out, in].
std::vector<ParameterShape> parameter_shapes(const ModelConfig& config);

std::int64_t count_parameters(const ModelConfig& config);

// FLOPs of the matrix products of one forward: 2 · tokens · (elements of all multiplied matrices,
// head included, embedding look-up excluded) + 4 · d_model · layers · batch · s(s+1)/2 for QKᵀ and
// PV under a causal mask. A backward takes twice as many. Kaplan et al. 2020, section 2.1, leaves
// the attention's part out: 6N a token in all.
double forward_flops(const ModelConfig& config, std::int64_t batch, std::int64_t seq_len);

}  // namespace assay::model
