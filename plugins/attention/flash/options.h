#pragma once

#include <assay/attention.h>

#include <vector>

namespace assay::flash {

// Of `flash` with and without its kernels, so that an experiment is as valid in either build.
inline std::vector<ParameterInfo> options() {
  return {left_out_at_default(boolean_parameter(
      "deterministic", false,
      "Adds the gradient of q in a fixed order: equal to the bit in every run."))};
}

}  // namespace assay::flash
