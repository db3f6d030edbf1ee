#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace assay::fused {

enum class Stored { fp32, bf16, fp16, nothing };

// One parameter of an update. Contiguous device memory.
struct Update {
  float* parameter;
  void* gradient;
  Stored gradient_dtype;  // not `nothing`
  float* first_moment;
  float* second_moment;
  const float* step;  // of this update, the first is 1
  void* copy;         // of the new parameter
  Stored copy_dtype;  // not fp32
  std::int64_t elements;
};

struct Settings {
  double learning_rate, beta1, beta2, eps, weight_decay;
  const float* factor;      // multiplies gradients; may be null
  const float* grad_scale;  // divides gradients; may be null
  const float* found_inf;   // nothing is done where it is 1; may be null
};

// Floats of device memory an update.
inline constexpr int adamw_workspace = 2;

// AdamW in place, one pass over memory: reads parameters, moments and gradients, and writes
// parameters, moments and copies; gradients as well where factor or grad_scale changes them. Only
// launches kernels, whose arguments hold all that the host knows; `workspace` is theirs until they
// have ended.
void launch_adamw(const std::vector<Update>& updates, const Settings& settings, float* workspace,
                  cudaStream_t stream);

}  // namespace assay::fused
