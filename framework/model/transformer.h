#pragma once

// model holds the transformer that workloads train, its operations from plugins, configurations,
// checkpoints and training state. It depends on base. Start here.

#include <assay/workload.h>

#include <optional>
#include <utility>
#include <vector>

#include "model/block_hooks.h"
#include "model/model_config.h"

namespace assay::model {

class Transformer {
 public:
  // Draws the parameters on `device`: matrices from N(0, 0.02²), norm weights 1, norm biases 0. The
  // same seed gives the same parameters on the same kind of device. q, k and v of a block, and gate
  // and up, lie one behind another in memory (joined()). `ops` needs attention and norm. Without a
  // seed the parameters' memory is as it was found, for load().
  Transformer(const ModelConfig& config, Ops ops, at::Device device, at::ScalarType dtype,
              std::optional<std::uint64_t> seed);

  // Blocks: the embedding, each of the layers, the head with the final norm. None: no cost.
  void set_hooks(BlockHooks hooks) { hooks_ = std::move(hooks); }
  // Keeps for the backward only what enters each group of so many layers, and computes a group
  // again in its backward; 0: keeps everything. Hooks need groups of one layer. A graph must not
  // outlive the model.
  void set_checkpoint_every(int layers) { checkpoint_every_ = layers; }

  // tokens: [batch, seq] int64 → the residual stream that enters the first block,
  // [batch, seq, d_model].
  at::Tensor embed(const at::Tensor& tokens) const;
  // tokens: [batch, seq] int64, seq ≤ context → logits [batch, seq, vocab_size] in the dtype of the
  // head's product.
  at::Tensor forward(const at::Tensor& tokens) const;
  // Mean cross-entropy over all positions, a scalar. targets: [batch, seq] int64.
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets) const;

  // Leaves that require gradients, in the order of parameter_shapes().
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  std::vector<at::Tensor> parameter_tensors() const;
  // Copies values from another model's parameters of any dtype and device.
  void load(const std::vector<NamedTensor>& parameters);

  const ModelConfig& config() const { return config_; }

 private:
  struct NormWeights {
    at::Tensor weight;
    at::Tensor bias;
  };
  struct Block {
    NormWeights norm1;
    NormWeights norm2;
    Qkv qkv;
    at::Tensor o;
    GateUp gate_up;  // swiglu; of a gelu block gate is the only matrix before the activation
    at::Tensor down;
  };

  // What one block hands to the next.
  struct Stream {
    at::Tensor residual;
    at::Tensor pending;  // what the last block adds; it joins the residual with the next norm
  };

  void make_parameters(at::Device device, at::ScalarType dtype, std::optional<std::uint64_t> seed);
  void make_rope_tables(at::Device device, at::ScalarType dtype);
  void name_parameters();
  NormInputs norm_inputs(at::Tensor x, const NormWeights& weights) const;
  // Attention without its output projection.
  at::Tensor mix(const Block& block, at::Tensor x) const;
  at::Tensor attend(const Block& block, at::Tensor x) const;
  at::Tensor feed_forward(const Block& block, at::Tensor x) const;
  // The logits of the last norm's output.
  at::Tensor project(const at::Tensor& normed) const;
  std::pair<at::Tensor, at::Tensor> add_norm(at::Tensor residual, at::Tensor x,
                                             const NormWeights& weights) const;
  void run_block(int index, Stream& stream) const;
  // Those from `first` to before `end`, as one checkpoint.
  void run_checkpoint(int first, int end, Stream& stream) const;
  void run_blocks(Stream& stream) const;

  ModelConfig config_;
  Ops ops_;
  BlockHooks hooks_;
  int checkpoint_every_ = 0;
  std::vector<NamedTensor> parameters_;
  at::Tensor embedding_;
  at::Tensor positions_;  // gelu only
  at::Tensor head_;       // the embedding where they are tied
  NormWeights final_norm_;
  std::vector<Block> blocks_;
  at::Tensor rope_cos_;  // swiglu only: [context, d_head / 2]
  at::Tensor rope_sin_;
};

}  // namespace assay::model
