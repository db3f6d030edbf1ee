#pragma once

#include <assay/workload.h>

#include <map>
#include <string>
#include <vector>

#include "model/model_config.h"

namespace assay::model_step {

// Errors of textbook operations in the case's precision, by output.
using UsualErrors = std::map<std::string, double>;

// A call at the timed shape and what it left on this rank.
struct LookedAtStep {
  const CaseContext& context;
  const model::ModelConfig& config;
  std::string pass;
  at::Tensor tokens, targets;           // [batch, seq_len]
  std::vector<NamedTensor> parameters;  // that it started from, whole
  std::vector<NamedTensor> values;      // whole outputs
  UsualErrors& usual;                   // as an earlier look at the pass found them, or none
  double loss_scale = 1;                // behind the step
};

// Compares with textbook operations in fp32 (TF32 where the case's products are coarser): a forward
// in the logits of one sequence drawn from the seed and, from all logits, the loss; others in loss
// and gradients of the whole batch, and of all ranks, one sequence at a time where the GPU lacks
// the memory for all. Textbook operations in the case's precision, with a tiled attention's
// rounding, tell how large an error may be: on the first sequences taken in the first look at a
// pass, on the whole batch where one would find an error. Not
// checked where a rank lacks the memory, or where gradients have overflown under loss scaling, so
// that the step is skipped: then the loss alone can be wrong. All ranks together.
Verification look_at_step(const LookedAtStep& step, std::uint64_t seed);

}  // namespace assay::model_step
