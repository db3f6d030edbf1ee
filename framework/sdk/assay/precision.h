#pragma once

#include <assay/ops.h>
#include <c10/core/ScalarType.h>

#include <optional>

namespace assay {

struct PrecisionPolicy {
  at::ScalarType parameters = at::kFloat;  // dtype of the stored parameters
  std::optional<at::ScalarType> autocast;  // dtype of matrix products under autocast
  bool tf32 = false;                       // allow TF32 in fp32 matrix products
  // Dynamic: doubled every 2000 good steps, halved on overflow. Micikevicius et al. 2018, "Mixed
  // Precision Training", section 3.2.
  bool loss_scaling = false;
  double initial_loss_scale = 65536;

  // The dtype single operations (one attention call, one norm) are measured in.
  at::ScalarType compute() const { return autocast.value_or(parameters); }
};

class Precision {
 public:
  static constexpr const char* kind = "precision";
  template <class T>
  class Guard;

  virtual ~Precision() = default;
  virtual PrecisionPolicy policy() const = 0;
  // May wrap operations, such as linear.
  virtual void wrap(Ops&) {}
};

class PrecisionBoundary : public Boundary {
 public:
  virtual Status policy(PrecisionPolicy& policy) noexcept = 0;
  virtual Status wrap(Ops& ops) noexcept = 0;
};

template <class T>
class Precision::Guard final : public PrecisionBoundary {
 public:
  template <class... Arguments>
  explicit Guard(const Arguments&... arguments) : plugin_(arguments...) {}

  Status policy(PrecisionPolicy& policy) noexcept override {
    return guarded([&] { policy = plugin_.policy(); });
  }
  Status wrap(Ops& ops) noexcept override {
    return guarded([&] { plugin_.wrap(ops); });
  }

 private:
  T plugin_;
};

}  // namespace assay
