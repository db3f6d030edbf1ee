#pragma once

#include <ATen/core/Tensor.h>

namespace assay {

// Says where a leaf's next gradient should be written: memory of its sizes and dtype, contiguous.
// The leaf must have no gradient that lies there. Whoever computes the gradient may write it there
// and hand that tensor on, which saves a copy; a gradient may still come elsewhere. An undefined
// `place` takes the offer back. The offer lives with the leaf; not to be called while a backward
// runs.
void offer_gradient_place(const at::Tensor& leaf, at::Tensor place);

// The place offered, once: undefined where there is none or somebody has taken it, who may have
// written there already.
at::Tensor take_gradient_place(const at::Tensor& leaf);

}  // namespace assay
