#pragma once

#include <ATen/core/Tensor.h>
#include <assay/communication.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/block_hooks.h"

namespace assay::conformance {

using Sizes = std::vector<std::vector<std::int64_t>>;

// Ranks that train a model of blocks whose gradients are known.
struct BlockSetup {
  int ranks = 1;
  Sizes parameters;                       // spread over at most three blocks, in order
  std::vector<std::size_t> missing = {};  // parameters that are not used
  bool missing_everywhere = false;        // by any rank, or by rank 0 alone
  std::vector<std::size_t> tied = {};     // that the last block uses, too
  std::vector<std::size_t> frozen = {};
  at::ScalarType compute = at::kFloat;
  bool recomputes = false;  // each block's forward comes again in its backward

  std::size_t block_count() const;
  bool is_missing(std::size_t parameter) const;
  bool is_frozen(std::size_t parameter) const;
  bool is_used(std::size_t parameter, int rank) const;
  // Blocks that use a parameter, missing or not, in order.
  std::vector<std::size_t> blocks_of(std::size_t parameter) const;
};

// "2 ranks on the CPU over Gloo, parameters [5] [2, 3], number 0 tied"
std::string text(const BlockSetup& setup);

// Each block adds to a scalar x, for each parameter w it uses, Σ c · w + slope / 2 · Σ w² with
// coefficients c drawn for the step, rank and block. So the gradient is c + slope · w, summed over
// the blocks that use w, and autograd saves views of w.
class BlockModel {
 public:
  using Seen = std::function<void(std::size_t block, std::size_t parameter)>;

  // parameters: fp32, one for each of the setup's; they must have the same order.
  BlockModel(const BlockSetup& setup, std::vector<at::Tensor> parameters);

  TrainedModel trained() const;
  // seen: called for each parameter as a block uses it.
  at::Tensor forward(int step, int rank, const model::BlockHooks& hooks, const Seen& seen) const;

  // float64 on the CPU, in a parameter's shape.
  static at::Tensor initial(const BlockSetup& setup, std::size_t parameter);
  // One rank's gradient where the parameter has that value. Defined for used parameters.
  static at::Tensor gradient(const BlockSetup& setup, int step, int rank, std::size_t parameter,
                             const at::Tensor& value);
  // Over all ranks; a rank without one counts as 0.
  static at::Tensor mean_gradient(const BlockSetup& setup, int step, std::size_t parameter,
                                  const at::Tensor& value);

 private:
  at::Tensor body(std::size_t block, at::Tensor x, int step, int rank, const Seen& seen) const;

  const BlockSetup& setup_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace assay::conformance
