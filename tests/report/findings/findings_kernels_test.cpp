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
  EXPECT_THAT(text, HasSubstr("**kernels**: forward, bf16: mm has the most time in 2 of 2 cases, "
                              "60.0 % to 80.0 %."));
  EXPECT_THAT(text, HasSubstr("train_step, bf16: adam has the most time, 50.0 %."));
  EXPECT_THAT(text, HasSubstr("with the optimizer another kernel leads than in forward and "
                              "backward in 1 of 1 cases, such as adam."));
}

// 12 ms of 10 are beyond 3 %: a quarter of them without a kernel. 20.4 of 20 are within.
TEST(KernelFindings, ExplainTheProfilersTimeByIdleTime) {
  const std::string text = markdown(
      "model,pass,part,time.value [ms],profiled_time.value [ms],busy_time.value "
      "[ms],idle_time.value [ms]\n"
      "small,forward,,10,12,9,\nsmall,forward,host,,,,2.4\n"
      "large,backward,,20,20.4,20,\n",
      "- findings: [kernels]");
  EXPECT_THAT(text, HasSubstr("**profiler**: forward takes 1.2 × the timer's time, model small: no "
                              "kernel runs in 25.0 % of it, waiting for the host in 20.0 %; the "
                              "kernels alone take 0.9 × the timer's time."));
  EXPECT_THAT(text, HasSubstr("**profiler**: backward takes as long as by the timer, within 3 %, "
                              "in 1 case."));
}

TEST(KernelFindings, SayWhatIsInNoClass) {
  const char* const figures = "pass,part,class_share.value [%]\nforward,unclassified,";
  EXPECT_THAT(markdown(std::string(figures) + "4\n", "- findings: [kernels]"),
              HasSubstr("up to 4.0 % of the kernels' time is in no class."));
  EXPECT_THAT(markdown(std::string(figures) + "0.4\n", "- findings: [kernels]"),
              Not(HasSubstr("in no class")));
}

}  // namespace
}  // namespace assay::report
