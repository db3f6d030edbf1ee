#include <gmock/gmock.h>

#include "rendering.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::markdown;

// mm leads in both cases of bf16's forward, and not with the optimizer.
TEST(KernelFindings, NameTheKernelThatLeads) {
  const std::string text = markdown(
      "model,precision,pass,part,kernel_share.value [%]\n"
      "small,bf16,forward,mm,60\nsmall,bf16,forward,softmax,40\n"
      "large,bf16,forward,mm,80\nlarge,bf16,forward,softmax,20\n"
      "small,bf16,forward_backward,mm,70\nsmall,bf16,forward_backward,adam,1\n"
      "small,bf16,train_step,mm,30\nsmall,bf16,train_step,adam,50\n",
      "- findings: [kernels]");
  EXPECT_THAT(text, HasSubstr("**mm has the most time**, forward, bf16 (60–80 % in 2 cases)."));
  EXPECT_THAT(text, HasSubstr("**adam has the most time**, train_step, bf16 (50 %)."));
  EXPECT_THAT(
      text, HasSubstr("**with the optimizer another kernel leads**, such as adam (1 of 1 case)."));
}

// The full name is a detail.
TEST(KernelFindings, AreReadableWhereTheNamesAreNot) {
  const std::string text = markdown(
      "pass,part,kernel_share.value [%]\n"
      "forward,\"void at::native::(anonymous namespace)::multi_apply<float, 4>(int)\",60\n"
      "backward,sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1,70\n",
      "- findings: [kernels]");
  EXPECT_THAT(text, HasSubstr("**multi_apply\\<…> has the most time**, forward (60 %)."));
  EXPECT_THAT(text, HasSubstr("**sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize25… has the most "
                              "time**, backward (70 %)."));
  EXPECT_THAT(text, HasSubstr("_warpsize4x2x1."));
}

// 12 ms of 10 are beyond 3 %: a quarter of them without a kernel. 20.4 of 20 are within.
TEST(KernelFindings, ExplainTheProfilersTimeByIdleTime) {
  const std::string text = markdown(
      "model,pass,part,time.value [ms],profiled_time.value [ms],busy_time.value "
      "[ms],idle_time.value [ms]\n"
      "small,forward,,10,12,9,\nsmall,forward,host,,,,2.4\n"
      "large,backward,,20,20.4,20,\n",
      "- findings: [kernels]");
  EXPECT_THAT(text, HasSubstr("**forward is 1.2× slower profiled than timed** at model small."));
  EXPECT_THAT(text, HasSubstr("**forward profiled** at model small: no kernel runs in 25 % of the "
                              "time, the host is waited for in 20 %; the kernels alone take 90 % "
                              "of the timer's time."));
  EXPECT_THAT(text, HasSubstr("**backward is as fast profiled as timed**, within 3 % (1 case)."));
}

TEST(KernelFindings, SayWhatIsInNoClass) {
  const char* const figures = "pass,part,class_share.value [%]\nforward,unclassified,";
  EXPECT_THAT(markdown(std::string(figures) + "4\n", "- findings: [kernels]"),
              HasSubstr("**up to 4 % of the kernels' time is in no class**."));
  EXPECT_THAT(markdown(std::string(figures) + "0.4\n", "- findings: [kernels]"),
              Not(HasSubstr("in no class")));
}

}  // namespace
}  // namespace assay::report
