#include "norm/fused_parts/fused_norm.h"

namespace {

using LayerNormFused = assay::norm_parts::FusedNorm</*is_centred=*/true>;

}  // namespace

ASSAY_PLUGIN(LayerNormFused, "layernorm_fused",
             "LayerNorm in kernels of its own: every row is read once, also backward.")
