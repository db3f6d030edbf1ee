#include "model/numeric_modes.h"

#include <ATen/Context.h>

namespace assay::model {

void set_numeric_modes(const PrecisionPolicy& policy, const at::Device& device) {
  if (policy.tf32 && !device.is_cuda()) throw Unsupported("TF32 needs a CUDA device");
  at::globalContext().setAllowTF32CuBLAS(policy.tf32);
  at::globalContext().setAllowTF32CuDNN(policy.tf32);
}

}  // namespace assay::model
