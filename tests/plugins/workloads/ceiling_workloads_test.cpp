#include <ATen/Context.h>
#include <ATen/ops/equal.h>

#include <map>

#include "plugins/described.h"
#include "plugins/support.h"

namespace assay {
namespace {

test::Case case_of(const std::string& workload, const Options& parameters) {
  auto made = test::make_case({workload});
  made.context.parameters = parameters;
  return made;
}

double memory_estimate(const std::string& workload, const Options& parameters) {
  return test::memory_estimate("workload", workload, workload, parameters);
}

// Sizes that no thread's share divides.
TEST(CopyWorkload, CopiesEveryByte) {
  for (const std::int64_t size : {1, 1000, (1 << 20) + 1, (3 << 20) + 7}) {
    const auto tested = case_of("copy", {{"size", size}});
    const auto verification = test::verify(tested, "copy");
    EXPECT_TRUE(verification.checked);
    EXPECT_EQ(verification.error, 0) << size;
  }
}

TEST(CopyWorkload, CountsWhatIsReadAndWritten) {
  const auto tested = case_of("copy", {{"size", test::integer(1000)}});
  EXPECT_EQ(test::counts(*test::build(tested), "copy"),
            (std::map<std::string, double>{{"bytes", 2000}}));
  EXPECT_EQ(memory_estimate("copy", {{"size", test::integer(1000)}}), 2000);
}

TEST(MatmulWorkload, AcceptsWhatIsRight) {
  for (const char* dtype : {"fp64", "fp32", "bf16", "fp16"}) {
    const auto tested = case_of("matmul", {{"m", test::integer(33)},
                                           {"n", test::integer(17)},
                                           {"k", test::integer(65)},
                                           {"dtype", std::string(dtype)}});
    const auto verification = test::verify(tested, "matmul");
    EXPECT_TRUE(verification.checked);
    EXPECT_LE(verification.error, verification.tolerance) << dtype;
    // A wrong dtype would be farther off.
    if (std::string(dtype) == "fp64") {
      EXPECT_LT(verification.error, 1e-12);
    }
    if (std::string(dtype) == "fp32") {
      EXPECT_LT(verification.error, 1e-5);
    }
  }
}

// 2 · 3 · 5 · 7; and a square of 4, 2 · 64, with three matrices of 16 elements in bf16.
TEST(MatmulWorkload, CountsOperationsAndBytes) {
  const Options given = {{"m", test::integer(3)},
                         {"n", test::integer(5)},
                         {"k", test::integer(7)},
                         {"dtype", std::string("fp64")}};
  const auto tested = case_of("matmul", given);
  EXPECT_EQ(test::counts(*test::build(tested), "matmul"),
            (std::map<std::string, double>{{"flops", 210}, {"bytes", 8 * (21 + 35 + 15)}}));
  EXPECT_EQ(memory_estimate("matmul", given), 8 * (21 + 35 + 15));
  const Options square = {{"m", test::integer(4)},
                          {"n", test::integer(0)},
                          {"k", test::integer(0)},
                          {"dtype", std::string("bf16")}};
  EXPECT_EQ(test::counts(*test::build(case_of("matmul", square)), "matmul"),
            (std::map<std::string, double>{{"flops", 128}, {"bytes", 96}}));
  EXPECT_EQ(memory_estimate("matmul", square), 96);
}

TEST(MatmulWorkload, Tf32NeedsAGpu) {
  const auto tested = case_of("matmul", {{"m", test::integer(4)},
                                         {"n", test::integer(0)},
                                         {"k", test::integer(0)},
                                         {"dtype", std::string("tf32")}});
  std::unique_ptr<ProgramBoundary> program;
  EXPECT_EQ(tested.workload->build(tested.context, program).outcome, Outcome::unsupported);
}

TEST(LaunchWorkload, LaunchesAsOftenAsItSays) {
  const auto tested =
      case_of("launch", {{"launches", test::integer(17)}, {"operation", std::string("libtorch")}});
  const auto program = test::build(tested);
  // The second call starts from the same inputs.
  for (int call = 0; call < 2; ++call) {
    const auto outputs = test::call_once(tested, *program, "launch");
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].tensor.item<std::int64_t>(), 17);
  }
  EXPECT_EQ(test::counts(*program, "launch"), (std::map<std::string, double>{{"launches", 17}}));
  const auto verification = test::verify(tested, "launch");
  EXPECT_TRUE(verification.checked);
  EXPECT_EQ(verification.error, 0);
}

TEST(LaunchWorkload, ACpuLaunchesNoKernels) {
  const auto tested =
      case_of("launch", {{"launches", test::integer(1)}, {"operation", std::string("kernel")}});
  std::unique_ptr<ProgramBoundary> program;
  const Status status = tested.workload->build(tested.context, program);
  EXPECT_EQ(status.outcome, Outcome::unsupported);
  EXPECT_EQ(status.reason, "a CPU launches no kernels");
}

TEST(CeilingWorkloads, UnknownPassIsAnError) {
  const std::map<std::string, Options> all = {
      {"copy", {{"size", test::integer(8)}}},
      {"matmul",
       {{"m", test::integer(2)},
        {"n", test::integer(0)},
        {"k", test::integer(0)},
        {"dtype", std::string("fp32")}}},
      {"launch", {{"launches", test::integer(1)}, {"operation", std::string("libtorch")}}}};
  for (const auto& [workload, parameters] : all) {
    const auto tested = case_of(workload, parameters);
    EXPECT_EQ(test::build(tested)->run("forward").outcome, Outcome::error) << workload;
  }
}

}  // namespace
}  // namespace assay
