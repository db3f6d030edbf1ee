#pragma once

#include <assay/norm.h>

namespace assay::model {

struct NormReference {
  at::Tensor out;  // like x; everything in float64
  at::Tensor dx;   // gradients only where dout is given
  at::Tensor dweight;
  at::Tensor dbias;  // undefined where in.bias is
};

// reference_norm() and its gradients from the inputs as they are, rounding included. Works in
// blocks of rows to keep float64 temporaries small. x: [rows, n_cols]; dout: like x, or undefined.
NormReference norm_reference(const NormInputs& in, bool centred, const at::Tensor& dout);

}  // namespace assay::model
