#pragma once

#include <string>

#include "accounting/model_cost.h"

namespace assay::accounting {

// How a model computes, as far as it changes what is kept for the backward.
struct Computing {
  bool mixed = false;  // matrix products in 16 bit under autocast, all else in fp32
  std::string attention = "math_libtorch";  // a variant's name; those unknown count as fused
  std::string norm = "rmsnorm";             // a variant's name; those unknown count as fused
  bool on_cpu = false;                      // whose autocast leaves a softmax in 16 bit
  double workspace = 0;                     // bytes that the library of matrix products keeps
  int checkpoint_every = 0;                 // blocks between two checkpoints; 0: everything is kept
};

// Bytes of the tensors that one block saves for its backward, by part: "norms", "inputs of
// products", "q, k, v", "probabilities", "attention's output", "feed-forward", "rope", and "block",
// their sum. With T = B · S tokens and e bytes (4, mixed 2) an element:
//
//   norms                  rmsnorm from basic operations keeps its input, x / rms and 1 / rms of
//                          each row, in fp32; a fused one its input, mean and deviation at most
//   inputs of products     a linear layer keeps its input; under autocast q, k and v, and gate and
//                          up, each keep a 16-bit copy of their own
//   q, k, v                as attention multiplies them: in fp32 for math_libtorch, e bytes for
//                          others
//   probabilities          B · H · S²: in fp32 for math_libtorch; naive also keeps autocast's copy
//                          (on a CPU that alone); fused ones keep a log-sum-exp a row instead
//   attention's output     the input of the output projection
//   feed-forward           swiglu: gate, up, silu(gate) and their product; gelu: both sides of the
//                          activation
//   rope                   its turns, of q and of k
//
// ffn: the inputs of its two layers, in e bytes.
Quantities saved_by_block(const Model& model, const Batch& batch, const Computing& computing);

// The same of all blocks, by part, with what lies outside them: "last norm and head's input",
// "log-probabilities" of the loss (fp32), and "saved for backward", the sum. With checkpoints the
// blocks' parts are "checkpoints" instead: the residual stream in fp32 and what the block before
// adds to it, in e bytes, where each group of blocks begins.
Quantities saved_by_part(const Model& model, const Batch& batch, const Computing& computing);

// Bytes of the 16-bit copies that autocast makes of the matrices and that autograd saves with them;
// 0 in fp32. With checkpoints those of the blocks are made again.
Quantity copies_by_autocast(const Model& model, const Computing& computing);

// What is saved for a backward, copies included, over B sequences of S tokens, in the language of
// expressions: "B * (a * S + b * S^2) + c * S + d", in bytes, without terms that are 0.
std::string activation_formula(const Model& model, const Computing& computing);

// What a step of model_step holds where it holds most, in bytes: "parameters", "gradients",
// "optimizer", "activations" (all that is saved, copied or on its way), "workspace", where there is
// one, and "peak", their sum. A step without its optimizer has no moments. The most is held in the
// last attention, by the loss, where the backward begins, in the backward of a block, or at the
// end.
//
// pass: "inference", "forward", "backward", "forward_backward" or "train_step"; another one has no
// quantities.
Quantities peak_by_part(const Model& model, const Batch& batch, const Computing& computing,
                        const std::string& pass);

}  // namespace assay::accounting
