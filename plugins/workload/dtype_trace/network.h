#pragma once

#include <assay/workload.h>

#include <memory>
#include <string>

#include "model/autocast.h"
#include "model/model_config.h"
#include "observed_dtypes.h"

namespace assay::dtype_trace {

inline constexpr const char* stored = "stored";

// A network that makes one training step and says what dtypes it saw.
class Network {
 public:
  virtual ~Network() = default;
  virtual ObservedDtypes step() = 0;
};

// fc1 (no bias), ReLU, LayerNorm, fc2 (no bias) and the cross-entropy of its logits, as they are in
// PyTorch: the case's precision is its only variant.
std::unique_ptr<Network> make_mlp(const CaseContext& context, std::int64_t batch);

// The transformer of model_step with the case's attention and norm.
std::unique_ptr<Network> make_transformer(const CaseContext& context,
                                          const model::ModelConfig& config, std::int64_t batch,
                                          std::int64_t seq_len);

// Where what runs now is taken, by the policy and whether its autocast is on.
inline std::string taken(const PrecisionPolicy& policy, bool inside) {
  if (!policy.autocast) return "without autocast";
  return inside ? "inside autocast" : "outside autocast";
}

}  // namespace assay::dtype_trace
