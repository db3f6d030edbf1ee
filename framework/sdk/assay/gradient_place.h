#pragma once

#include <ATen/core/Tensor.h>

namespace assay {

// Says where a leaf's next gradient should be written: memory of its sizes, contiguous, in its
// dtype or in fp32. The leaf must have no gradient that lies there. Whoever computes the gradient
// may write it there and hand that tensor on, which saves a copy; a gradient may still come
// elsewhere. A place in fp32 is only offered to a leaf of 16 bits with a single use, since what is
// handed on for it, gradient_at() of it, has no values that could be added to others. The offer
// lives with the leaf; not to be called while a backward runs.
void offer_gradient_place(const at::Tensor& leaf, at::Tensor place);

// What autograd is given for a gradient written at `place`: a tensor of the leaf's dtype in the
// same memory. Its values are the gradient's where `place` has that dtype; otherwise only its
// address means something, to whoever has offered the place.
at::Tensor gradient_at(const at::Tensor& place, at::ScalarType dtype);

// The place offered, once: undefined where there is none or somebody has taken it, who may have
// written there already.
at::Tensor take_gradient_place(const at::Tensor& leaf);

}  // namespace assay
