#include "conformance/registered.h"

namespace assay::test {
namespace {

class GpuConformance : public testing::TestWithParam<Registered> {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

TEST_P(GpuConformance, Holds) { expect_conformance(GetParam(), at::Device(at::kCUDA, 0)); }

INSTANTIATE_TEST_SUITE_P(, GpuConformance, testing::ValuesIn(registered_plugins()),
                         registered_name);

}  // namespace
}  // namespace assay::test
