// The precision studies on a GPU: its arithmetic is the CPU's, and its autocast has its own lists.

#include <gtest/gtest.h>

#include "device.h"
#include "plugins/recorded.h"

namespace assay::test {
namespace {

class GpuPrecision : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

// The catalogue's C1, to the last digit.
TEST_F(GpuPrecision, SumsAreTheCpus) {
  auto tested = make_case({"accumulation"}, cuda);
  tested.context.parameters = {{"terms", integer(1000)}, {"addend", 0.01}};
  const auto found = recorded(tested, "accumulation", "sum");
  EXPECT_EQ(found.value("result", "fp32"), 10.000133514404296875);
  EXPECT_EQ(found.value("result", "fp16"), 9.953125);
  EXPECT_EQ(found.value("result", "fp32 += fp16"), 10.00213623046875);
  EXPECT_EQ(found.value("result", "fp32 += fp32(fp16)"), 10.00213623046875);
  EXPECT_EQ(found.value("result", "bf16"), 4);
  EXPECT_EQ(found.value("result", "fp32 += bf16"), 10.009765625);
}

// On a GPU autocast takes layer norm in fp32.
TEST_F(GpuPrecision, LayerNormIsWideUnderAutocast) {
  for (const char* precision : {"fp16", "bf16"}) {
    auto tested = make_case({"dtype_trace", "naive", "rmsnorm", precision}, cuda);
    set_model(tested.context, "swiglu", 2, 16);
    tested.context.parameters["network"] = std::string("mlp");
    const auto found = recorded(tested, "dtype_trace", "step");
    EXPECT_EQ(found.word("dtype", "layer norm output"), "torch.float32") << precision;
    EXPECT_EQ(found.value("element_size", "fc1 output"), 2) << precision;
    EXPECT_EQ(found.word("dtype", "loss"), "torch.float32") << precision;
    EXPECT_EQ(found.value("element_size", "loss outside autocast"), 2) << precision;
  }
}

}  // namespace
}  // namespace assay::test
