#pragma once

#include <assay/norm.h>

namespace assay::model {

struct NormReference {
  at::Tensor out;  // like x; everything in float64
  at::Tensor dx;   // gradients only where dout was given
  at::Tensor dweight;
  at::Tensor dbias;  // undefined where in.bias is
};

// reference_norm() and its gradients from the inputs as they are, rounding included; some rows
// after the other, so that what float64 takes beside the results stays small. x: [rows, n_cols];
// dout: like x, or undefined.
NormReference norm_reference(const NormInputs& in, bool centred, const at::Tensor& dout);

}  // namespace assay::model
