#include <assay/plugin.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#if ASSAY_WITH_CUDA
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#endif

namespace assay {
namespace {

template <class Throw>
Status status_of(Throw&& thrower) {
  try {
    thrower();
  } catch (...) {
    return status_of_current_exception();
  }
  return {};
}

void expect_an_ecc_error(const Status& status) {
  EXPECT_EQ(status.outcome, Outcome::error);
  EXPECT_EQ(status.reason, "CUDA error: uncorrectable ECC error encountered");
}

TEST(Failure, AnEccErrorIsAnErrorInCudasWords) {
  expect_an_ecc_error(status_of([] {
    TORCH_CHECK(false,
                "CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be "
                "asynchronously reported at some other API call, so the stacktrace below might be "
                "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1");
  }));
}

#if ASSAY_WITH_CUDA
// LibTorch's wording of a CUDA error.
TEST(Failure, AnEccErrorThatLibTorchFoundIsAnErrorInCudasWords) {
  expect_an_ecc_error(status_of([] {
    c10::cuda::c10_cuda_check_implementation(cudaErrorECCUncorrectable, __FILE__, __func__,
                                             __LINE__, false);
  }));
}
#endif

}  // namespace
}  // namespace assay
