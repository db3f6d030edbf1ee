#include <assay/precision.h>

namespace {

class Mine final : public assay::Precision {
 public:
  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.autocast = at::kBFloat16;
    return policy;
  }
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "fp32 parameters, matrix products in bf16.")
