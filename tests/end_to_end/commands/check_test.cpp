// `assay check` on variants with one fault each: the check that fails and its smallest case.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Ended check(const Folder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "check");
  arguments.insert(arguments.end(),
                   {"--plugin", fixture("conformance_variants"), "--device", "cpu"});
  return assay(folder.path(), arguments);
}

struct Fault {
  const char* plugin;
  const char* check;      // that finds it
  const char* smallest;   // the smallest case, in words
  const char* complaint;  // in the report
};

class CheckTest : public ::testing::TestWithParam<Fault> {};

TEST_P(CheckTest, FindsTheFaultAndItsSmallestCase) {
  const Folder folder;
  const auto [plugin, name, smallest, complaint] = GetParam();
  const Ended ended = check(folder, {plugin, "--filter", name});
  EXPECT_EQ(ended.exit_code, 1) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr(std::string(name) + " does not hold: "));
  EXPECT_THAT(ended.output, HasSubstr(std::string("smallest case: ") + smallest + "\n"));
  EXPECT_THAT(ended.output, HasSubstr(complaint));
  EXPECT_THAT(ended.output, HasSubstr("0 ok, 1 failed, 0 not applicable"));
}

std::string fault_name(const ::testing::TestParamInfo<Fault>& tested) {
  const std::string plugin = tested.param.plugin;
  return plugin.substr(plugin.find('/') + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, CheckTest,
    ::testing::Values(
        Fault{"attention/forgets_tail", "forward",
              "batch 1, heads 2, seq 65, d_head 64, not causal, fp32", "out is off by "},
        Fault{"attention/ignores_strides", "strides",
              "batch 2, heads 3, seq 5, d_head 64, not causal, fp32, stored as [batch, seq, heads, "
              "d_head]",
              "out is off by "},
        Fault{"attention/wrong_dk", "gradients",
              "batch 1, heads 2, seq 2, d_head 64, not causal, fp32", "grad.k is off by "},
        Fault{"attention/wavers", "determinism",
              "batch 1, heads 2, seq 1, d_head 64, causal, fp32, stored as [batch, seq, heads, "
              "d_head]",
              "two calls on the same inputs give different out"},
        Fault{"attention/scales_in_place", "inputs_unchanged",
              "batch 1, heads 2, seq 1, d_head 64, causal, fp32, stored as [batch, seq, heads, "
              "d_head]",
              "its call changed the input q"},
        Fault{"attention/leaves_rows", "unwritten_memory",
              "batch 1, heads 2, seq 65, d_head 64, causal, fp32, stored as [batch, seq, heads, "
              "d_head]",
              "out is not finite; at [0, 0, 64, 0] it is nan"},
        Fault{"attention/overflows_fp16", "magnitudes",
              "batch 1, heads 2, seq 3, d_head 64, not causal, fp16, scale 0.001, q and k all 40: "
              "q kᵀ is "
              "beyond fp16's range, scale · q kᵀ is not",
              "out is not finite"},
        Fault{"attention/ignores_scale", "scale",
              "batch 1, heads 2, seq 3, d_head 64, not causal, fp32, scale 0.01",
              "more than 0.0002; at ["},
        Fault{"attention/leaks", "memory",
              "batch 1, heads 2, seq 1, d_head 64, causal, fp32, stored as [batch, seq, heads, "
              "d_head]",
              "24 repetitions left 3072 bytes allocated"},
        Fault{"attention/dies_at_17", "forward",
              "batch 1, heads 2, seq 17, d_head 64, not causal, fp32",
              "the worker ended with signal 11 (SIGSEGV: Segmentation fault)"},
        Fault{"attention/wrong_lse", "log_sum_exp",
              "batch 1, heads 2, seq 1, d_head 64, not causal, fp32", "lse is off by "},
        Fault{"attention/mixes_groups", "grouped",
              "batch 2, heads 4, kv_heads 2, seq 1, d_head 32, not causal, fp32", "out is off by "},
        Fault{"attention/widens_window", "windowed",
              "batch 1, heads 2, seq 17, d_head 64, not causal, fp32, window 1", "out is off by "},
        Fault{"attention/cannot_be_made", "creation", "made twice", "error: no such luck"},
        Fault{"norm/wrong_dweight", "gradients", "x [3, 1], fp32", "grad.weight is off by "},
        Fault{"norm/forgets_residual", "residual", "x [1, 1], fp32, with a residual: the sum",
              "grad.residual is off by "},
        Fault{"communication/sums", "mean", "2 ranks on the CPU over Gloo, parameters [1]",
              "gradient 0 is off by 1,"},
        Fault{"communication/leaves_last", "ownership",
              "3 ranks on the CPU over Gloo, parameters [5] [2, 3] [1]",
              "2 of 3 ranks own an element of parameter 2: one must, or all of them"},
        Fault{"compile/remembers", "changed_inputs",
              "inference: 2 layers, d_model 32, 2 heads, vocabulary 61, batch 2, seq 17",
              "call 2: logits is off by "},
        Fault{"compile/ignores_limit", "optimizer", "a norm above the limit",
              "first moment is off by "},
        Fault{"compile/wants_their_dtype", "optimizer", "gradients in bf16",
              "first moment is off by "},
        Fault{"compile/assumes_joined", "products", "q, k and v (fewer heads), weights apart",
              "product 3 is off by "},
        Fault{"precision/promises", "dtype", "x [16, 32], weight [48, 32]",
              "comes out in fp32, but the policy says bf16"},
        Fault{"precision/needless_copies", "policy", "policy()",
              "parameters in fp32 need no master copy in fp32"},
        Fault{"precision/learns_slowly", "training",
              "5 steps: 2 layers, d_model 32, 2 heads, vocabulary 61, batch 2, seq 17",
              "the loss's fall after step 1 is off by 0.4"},
        Fault{"precision/never_skips", "overflow",
              "one step: 2 layers, d_model 32, 2 heads, vocabulary 61, batch 2, seq 17",
              "a step that overflows changes parameters"},
        Fault{"workload/accumulates", "isolation", "forward with every parameter small",
              "two calls of one program differ: total is off by 1,"}),
    fault_name);

TEST(CheckTest, ACrashFailsItsChecksAndTheOthersStillRun) {
  const Folder folder;
  const Ended ended = check(folder, {"attention/dies_at_17", "--filter", "forward", "--filter",
                                     "scale", "--filter", "memory", "--filter", "creation"});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("  creation  "));
  EXPECT_THAT(ended.output, HasSubstr("forward does not hold"));
  EXPECT_THAT(ended.output, HasSubstr("memory does not hold"));
  EXPECT_THAT(ended.output, Not(HasSubstr("scale does not hold")));
  EXPECT_THAT(ended.output, HasSubstr("2 ok, 2 failed, 0 not applicable"));
}

TEST(CheckTest, ACrashIsToldOnceWithItsAddressAndItsCalls) {
  const Folder folder;
  const Ended ended = check(folder, {"attention/reads_nowhere"});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const std::string& text = ended.output;
  EXPECT_THAT(text, HasSubstr(", there is no memory at address 0x10; it said: reading\n"));
  EXPECT_THAT(text, HasSubstr("  called by\n    "));
  EXPECT_THAT(text, HasSubstr("in conformance_variants.so\n"));
  const std::size_t paragraph = text.find("the worker ended with signal 11");
  ASSERT_NE(paragraph, std::string::npos) << text;
  EXPECT_EQ(text.find("the worker ended with signal 11", paragraph + 1), std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr(" does not hold: it ends like "));
  EXPECT_THAT(text, HasSubstr("not begun, since 2 checks ended or hung in the middle: "));
}

TEST(CheckTest, AfterTwoEndsTheRestRunsOnlyWithAll) {
  const Folder folder;
  const Ended two = check(folder, {"attention/dies_at_17"});
  const Ended all = check(folder, {"attention/dies_at_17", "--all"});
  EXPECT_EQ(all.exit_code, 1) << all.errors;
  EXPECT_THAT(two.output, HasSubstr(", 2 failed, "));
  EXPECT_THAT(all.output, Not(HasSubstr(", 2 failed, ")));
  EXPECT_THAT(all.output, Not(HasSubstr("not begun")));
}

TEST(CheckTest, ACaseThatHangsIsNamed) {
  const Folder folder;
  const Ended ended =
      check(folder, {"attention/hangs_at_2", "--filter", "forward", "--timeout", "5 s"});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_THAT(
      ended.output,
      AllOf(HasSubstr("smallest case: batch 1, heads 2, seq 2, d_head 64, not causal, fp32"),
            HasSubstr("it did not finish within 5")));
}

TEST(CheckTest, WhatCannotBeMadeIsNotCheckedFurther) {
  const Folder folder;
  const Ended ended = check(folder, {"attention/cannot_be_made"});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("0 ok, 1 failed, 0 not applicable"));
}

TEST(CheckTest, WhatAPluginDeclinesIsNoFailureAndItsReasonStandsThere) {
  const Folder folder;
  const Ended ended = check(folder, {"attention/modest", "--filter", "magnitudes", "--filter",
                                     "output", "--filter", "stream"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  // 21 value patterns and lengths in fp32 without a mask; as many with one, and twice both in fp16
  // and bf16.
  EXPECT_THAT(ended.output, HasSubstr("21 cases, 105 declined"));
  EXPECT_THAT(ended.output, HasSubstr("declined:\n  only fp32\n  no mask\n"));
  EXPECT_THAT(ended.output, HasSubstr("1 ok, 0 failed, 2 not applicable"));
}

TEST(CheckTest, ARightPluginPassesEverythingThatApplies) {
  const Folder folder;
  const Ended ended = check(folder, {"norm/rmsnorm"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("norm/rmsnorm on cpu\n"));
  EXPECT_THAT(ended.output, HasSubstr("0 failed, 1 not applicable"));
}

TEST(CheckTest, GroupsAndWindowsThatAPluginDoesNotDeclareAreRefusedForIt) {
  const Folder folder;
  const Ended ended = check(folder, {"attention/modest", "--filter", "grouped", "--filter",
                                     "windowed", "--filter", "undeclared"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("it takes as many heads of k and v as of q\n"));
  EXPECT_THAT(ended.output, HasSubstr("it has no window; "));
  EXPECT_THAT(ended.output, HasSubstr("1 ok, 0 failed, 2 not applicable"));
}

struct Mistake {
  const char* name;
  std::vector<std::string> arguments;
  int exit_code;
  const char* said;
};

class BadCheckTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(BadCheckTest, IsRefusedInWords) {
  const Folder folder;
  const Ended ended = check(folder, GetParam().arguments);
  EXPECT_EQ(ended.exit_code, GetParam().exit_code) << ended.output;
  EXPECT_THAT(ended.errors, HasSubstr(GetParam().said));
  EXPECT_THAT(ended.output, Not(HasSubstr("failed")));
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, BadCheckTest,
    ::testing::Values(
        Mistake{"Nothing", {}, 2, "say what to check"},
        Mistake{"Kind",
                {"atention/naive"},
                2,
                "there is no kind 'atention'; did you mean "
                "'attention'?"},
        Mistake{"Name", {"attention/niave"}, 2, "did you mean 'naive'?"},
        Mistake{"Check", {"norm/rmsnorm", "--filter", "strydes"}, 2, "did you mean 'strides'?"},
        Mistake{"Option", {"norm/rmsnorm", "--set", "block=4"}, 2, "has no option 'block'"},
        Mistake{"Assignment", {"norm/rmsnorm", "--set", "block"}, 2, "--set block has no '='"},
        Mistake{"Time", {"norm/rmsnorm", "--timeout", "0 s"}, 2, "--timeout must be above 0 s"},
        Mistake{"External", {"compile/torch_compile"}, 2, "is external"}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace assay::test
