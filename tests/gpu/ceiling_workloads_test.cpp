#include <ATen/Context.h>

#include <map>

#include "device.h"
#include "plugins/support.h"

namespace assay {
namespace {

class GpuCeilings : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

test::Case case_of(const std::string& workload, const Options& parameters) {
  auto made = test::make_case({workload}, cuda);
  made.context.parameters = parameters;
  return made;
}

Verification verified(const test::Case& tested, const std::string& pass) {
  Verification verification;
  throw_unless_ok(tested.workload->verify(tested.context, pass, verification));
  EXPECT_TRUE(verification.checked);
  EXPECT_LE(verification.error, verification.tolerance);
  return verification;
}

TEST_F(GpuCeilings, CopyWritesEveryByte) {
  for (const std::int64_t size : {1, (1 << 20) + 1, 1 << 28}) {
    verified(case_of("copy", {{"size", size}}), "copy");
  }
}

// TF32 keeps 10 bits of the mantissa, so its products are off by more than fp32's can be.
TEST_F(GpuCeilings, MatmulUsesTheDtypeItSays) {
  std::map<std::string, double> errors;
  for (const char* dtype : {"fp64", "fp32", "tf32", "bf16", "fp16"}) {
    errors[dtype] = verified(case_of("matmul", {{"m", test::integer(1024)},
                                                {"n", test::integer(512)},
                                                {"k", test::integer(2048)},
                                                {"dtype", std::string(dtype)}}),
                             "matmul")
                        .error;
  }
  EXPECT_LT(errors["fp64"], 1e-12);
  EXPECT_LT(errors["fp32"], 1e-5);
  EXPECT_GT(errors["tf32"], 1e-5);
  EXPECT_GT(errors["bf16"], errors["fp16"]);
}

TEST_F(GpuCeilings, LaunchesKernelsAndOperations) {
  for (const char* operation : {"kernel", "libtorch"}) {
    const auto tested = case_of(
        "launch", {{"launches", test::integer(100)}, {"operation", std::string(operation)}});
    std::unique_ptr<ProgramBoundary> program;
    const Status built = tested.workload->build(tested.context, program);
    if (built.outcome == Outcome::unsupported) GTEST_SKIP() << built.reason;
    verified(tested, "launch");
  }
}

TEST_F(GpuCeilings, LaunchesCanBeCaptured) {
  for (const char* operation : {"kernel", "libtorch"}) {
    auto tested = test::make_case({"launch", "naive", "rmsnorm", "fp32", "cuda_graph"}, cuda);
    tested.context.parameters = {{"launches", test::integer(10)},
                                 {"operation", std::string(operation)}};
    std::unique_ptr<ProgramBoundary> program;
    const Status built = tested.workload->build(tested.context, program);
    if (built.outcome == Outcome::unsupported) GTEST_SKIP() << built.reason;
    const auto outputs = test::call_once(tested, *program, "launch");
    EXPECT_EQ(outputs.at(0).tensor.item<std::int64_t>(), 10) << operation;
  }
}

}  // namespace
}  // namespace assay
