#pragma once

#include <ATen/Context.h>

#include <string>

namespace assay::test {

// Why the variants with own kernels cannot be tested here; empty where they can.
inline std::string why_no_fused() {
#ifdef ASSAY_TEST_KERNELS
  return at::getNumGPUs() == 0 ? "no CUDA device on this machine" : "";
#else
  return "built without nvcc: there is no fused";
#endif
}

}  // namespace assay::test
