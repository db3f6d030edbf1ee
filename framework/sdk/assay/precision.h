#pragma once

#include <assay/ops.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

namespace assay {

struct PrecisionPolicy {
  at::ScalarType parameters = at::kFloat;  // dtype of the stored parameters
  std::optional<at::ScalarType> autocast;  // dtype of matrix products under autocast
  bool tf32 = false;                       // allow TF32 in fp32 matrix products
  // Dynamic: doubled after so many good steps, halved on overflow, which skips the step.
  // Micikevicius et al. 2018, "Mixed Precision Training", section 3.2.
  bool loss_scaling = false;
  double initial_loss_scale = 65536;
  std::int64_t loss_scale_growth_interval = 2000;
  // Parameters narrower than fp32 have copies in fp32, which the optimizer updates with gradients
  // in fp32; the parameters are the copies, rounded. The same paper, section 3.1.
  bool fp32_master = false;

  // The dtype in which single operations (one attention call, one norm) are measured.
  at::ScalarType compute() const { return autocast.value_or(parameters); }
};

class Precision {
 public:
  static constexpr const char* kind = "precision";

  virtual ~Precision() = default;
  virtual PrecisionPolicy policy() const = 0;
  // May wrap operations, such as linear.
  virtual void wrap(Ops&) {}
};

}  // namespace assay

#include <assay/detail/precision.h>
