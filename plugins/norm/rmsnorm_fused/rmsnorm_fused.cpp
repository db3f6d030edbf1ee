#include "norm/fused_parts/fused_norm.h"

namespace {

using RmsNormFused = assay::norm_parts::FusedNorm</*is_centred=*/false>;

}  // namespace

ASSAY_PLUGIN(RmsNormFused, "rmsnorm_fused",
             "RMSNorm in kernels of its own: every row is read once, also backward.")
