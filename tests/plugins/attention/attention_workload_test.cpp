#include <cmath>
#include <map>
#include <utility>

#include "plugins/support.h"

namespace assay {
namespace {

void set_shape(CaseContext& context, std::int64_t batch, std::int64_t heads, std::int64_t seq_len,
               std::int64_t d_head, bool causal) {
  context.parameters = {{"batch", batch},           {"heads", heads},
                        {"seq_len", seq_len},       {"d_head", d_head},
                        {"causal", causal},         {"kv_heads", std::int64_t{0}},
                        {"window", std::int64_t{0}}};
}

double counted(const test::Case& tested, const std::string& pass, const std::string& metric) {
  std::vector<Count> counts;
  throw_unless_ok(test::build(tested)->counts(pass, counts));
  for (const auto& found : counts) {
    if (found.metric == metric) return found.value;
  }
  return -1;
}

TEST(AttentionWorkload, AcceptsWhatIsRight) {
  for (const char* variant : {"naive", "math_libtorch", "flash_libtorch"}) {
    for (const char* precision : {"fp32", "bf16", "fp16"}) {
      auto tested = test::make_case({"attention", variant, "rmsnorm", precision});
      for (const bool causal : {true, false}) {
        set_shape(tested.context, 2, 2, 65, 16, causal);
        for (const auto& pass : test::call_passes) {
          const auto verification = test::verify(tested, pass);
          EXPECT_TRUE(verification.checked);
          EXPECT_LE(verification.error, verification.tolerance)
              << variant << " " << precision << " " << pass << " " << verification.worst;
        }
      }
    }
  }
}

TEST(AttentionWorkload, AcceptsGroupsAndAWindow) {
  for (const char* variant : {"naive", "math_libtorch", "flash_libtorch"}) {
    auto tested = test::make_case({"attention", variant});
    set_shape(tested.context, 2, 6, 65, 16, true);
    tested.context.parameters["kv_heads"] = std::int64_t{2};
    tested.context.parameters["window"] = std::int64_t{9};
    for (const auto& pass : test::call_passes) {
      const auto verification = test::verify(tested, pass);
      EXPECT_TRUE(verification.checked);
      EXPECT_LE(verification.error, verification.tolerance)
          << variant << " " << pass << " " << verification.worst;
    }
    const auto attention = tested.context.ops.attention;
    tested.context.ops.attention = [&](AttentionInputs in) {
      ++in.window;
      return attention(in);
    };
    const auto wider = test::verify(tested, "forward");
    EXPECT_GT(wider.error, wider.tolerance) << variant;
  }
}

// What a look finds behind a call of the pass.
Verification looked_at(const test::Case& tested, const std::string& pass) {
  const auto program = test::build(tested);
  test::call_once(tested, *program, pass);
  Verification found;
  throw_unless_ok(program->look(pass, {.seed = 7, .device = at::kCPU}, found));
  return found;
}

// The softmax of one score is 1 whatever it is: gradients of q and k are 0, and what kernels leave
// there is the rounding of terms that cancel.
TEST(AttentionWorkload, AcceptsTheRoundingOfGradientsOfASingleKey) {
  for (const char* variant : {"naive", "math_libtorch", "flash_libtorch"}) {
    for (const char* precision : {"fp32", "bf16", "fp16"}) {
      auto tested = test::make_case({"attention", variant, "rmsnorm", precision});
      for (const bool windowed : {false, true}) {
        set_shape(tested.context, 2, 2, windowed ? 33 : 1, 16, true);
        tested.context.parameters["window"] = std::int64_t{windowed ? 1 : 0};
        for (const char* pass : {"backward", "forward_backward"}) {
          for (const Verification& found : {test::verify(tested, pass), looked_at(tested, pass)}) {
            EXPECT_TRUE(found.checked);
            EXPECT_LE(found.error, found.tolerance)
                << variant << " " << precision << " " << windowed << " " << found.worst;
          }
        }
      }
    }
  }
}

// The output is right, and the gradient of q a tenth of the output's, in place of 0.
TEST(AttentionWorkload, RefusesGradientsOfASingleKeyThatAreNoRounding) {
  for (const char* precision : {"fp32", "bf16"}) {
    auto tested = test::make_case({"attention", "naive", "rmsnorm", precision});
    set_shape(tested.context, 2, 2, 1, 16, true);
    tested.context.ops.attention = [](const AttentionInputs& in) {
      return in.v + (in.q - in.q.detach()) * 0.1 + in.k * 0;
    };
    for (const Verification& found :
         {test::verify(tested, "backward"), looked_at(tested, "backward")}) {
      EXPECT_GT(found.error, found.tolerance);
      EXPECT_NE(found.worst.find("grad.q"), std::string::npos) << found.worst;
    }
  }
}

// A single key of so many elements that rounding leaves more than the tolerance: ε scale ‖dO‖ ‖v‖
// ‖q‖, of normal elements but q's, which are 40 times as large. Products of split operands leave 4
// ε.
TEST(AttentionWorkload, AcceptsTheRoundingOfSplitProducts) {
  constexpr double length = 65536, rounding = 0x1p-24 * 40 * length;
  for (const auto& [times, right] : {std::pair{3.0, true}, {6.0, false}}) {
    auto tested = test::make_case({"attention", "naive"});
    set_shape(tested.context, 1, 1, 1, static_cast<std::int64_t>(length), true);
    const double element = times * rounding / std::sqrt(length);
    tested.context.ops.attention = [element,
                                    attention = tested.context.ops.attention](AttentionInputs in) {
      if (!in.k.requires_grad()) return attention(in);
      in.k = in.k * 1;
      in.k.register_hook([element](const at::Tensor& gradient) { return gradient + element; });
      return attention(in);
    };
    const Verification found = looked_at(tested, "backward");
    EXPECT_EQ(found.error <= found.tolerance, right) << times << " " << found.worst;
    EXPECT_NE(found.worst.find("grad.k"), std::string::npos) << found.worst;
  }
}

// By hand, 4 positions: a causal window of 2 leaves 1 + 2 + 2 + 2 pairs, one of both sides 2 + 3 +
// 3
// + 2. k and v have 1 of 3 heads: 96 elements of q and out, 32 of k and v.
TEST(AttentionWorkload, CountsWhatGroupsAndWindowLeave) {
  auto tested = test::make_case({"attention"});
  set_shape(tested.context, 1, 3, 4, 8, true);
  tested.context.parameters["kv_heads"] = std::int64_t{1};
  tested.context.parameters["window"] = std::int64_t{2};
  EXPECT_EQ(counted(tested, "forward", "flops"), 4 * 3 * 7 * 8);
  EXPECT_EQ(counted(tested, "forward", "bytes"), 2 * (96 + 32) * 4);
  EXPECT_EQ(counted(tested, "backward", "bytes"), 4 * (96 + 32) * 4);
  tested.context.parameters["causal"] = false;
  EXPECT_EQ(counted(tested, "forward", "flops"), 4 * 3 * 10 * 8);
  tested.context.parameters["window"] = std::int64_t{100};
  EXPECT_EQ(counted(tested, "forward", "flops"), 4 * 3 * 16 * 8);
}

TEST(AttentionWorkload, HeadsThatKvHeadsDoNotDivideAreAnError) {
  auto tested = test::make_case({"attention"});
  set_shape(tested.context, 1, 3, 4, 8, true);
  tested.context.parameters["kv_heads"] = std::int64_t{2};
  std::unique_ptr<ProgramBoundary> program;
  const Status status = tested.workload->build(tested.context, program);
  EXPECT_EQ(status.outcome, Outcome::error);
  EXPECT_EQ(status.reason, "heads 3 is not a multiple of kv_heads 2");
}

// Above 4096 queries only some are checked, and all keys' gradients.
TEST(AttentionWorkload, AcceptsAndRefusesLongSequences) {
  auto tested = test::make_case({"attention", "flash_libtorch"});
  set_shape(tested.context, 1, 1, 5000, 8, true);
  const auto right = test::verify(tested, "forward_backward");
  EXPECT_LE(right.error, right.tolerance) << right.worst;

  const auto attention = tested.context.ops.attention;
  tested.context.ops.attention = [&](AttentionInputs in) {
    in.scale *= 1.01;
    return attention(in);
  };
  const auto wrong = test::verify(tested, "forward_backward");
  EXPECT_GT(wrong.error, wrong.tolerance);
}

TEST(AttentionWorkload, RefusesWhatIsWrong) {
  const std::map<std::string, std::function<at::Tensor(const AttentionInputs&)>> wrong = {
      {"values passed through", [](const AttentionInputs& in) { return in.v * 1; }},
      {"one element off",
       [](const AttentionInputs& in) {
         auto copy = in;
         copy.k = in.k.roll(1, 2);
         return at::matmul(at::softmax(at::matmul(in.q, copy.k.transpose(2, 3)), -1), in.v);
       }},
      {"memory never written",
       [](const AttentionInputs& in) { return in.q * 0 + at::empty_like(in.q.detach()); }},
  };
  for (const auto& [name, attention] : wrong) {
    for (const char* precision : {"fp32", "bf16"}) {
      auto tested = test::make_case({"attention", "naive", "rmsnorm", precision});
      set_shape(tested.context, 1, 2, 33, 16, true);
      tested.context.ops.attention = attention;
      for (const auto& pass : test::call_passes) {
        const auto verification = test::verify(tested, pass);
        EXPECT_GT(verification.error, verification.tolerance) << name << " " << pass;
      }
    }
  }
}

TEST(AttentionWorkload, WithoutABackwardThatPassIsUnsupported) {
  auto tested = test::make_case({"attention"});
  set_shape(tested.context, 1, 1, 8, 8, true);
  tested.context.ops.attention = [](const AttentionInputs& in) { return in.v.detach() * 1; };
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  throw_unless_ok(program->before("backward"));
  EXPECT_EQ(program->run("backward").outcome, Outcome::unsupported);
  EXPECT_TRUE(program->run("forward").ok());
}

// By hand: 2 · 3 heads, 10 pairs of a causal 4 × 4, d_head 8; 192 elements of 4 bytes a tensor.
TEST(AttentionWorkload, CountsOperationsAndBytes) {
  auto tested = test::make_case({"attention"});
  set_shape(tested.context, 2, 3, 4, 8, true);
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  const auto count = [&](const std::string& pass, const std::string& metric) {
    std::vector<Count> counts;
    throw_unless_ok(program->counts(pass, counts));
    for (const auto& found : counts) {
      if (found.metric == metric) return found.value;
    }
    return -1.0;
  };
  EXPECT_EQ(count("forward", "flops"), 4 * 6 * 10 * 8);
  EXPECT_EQ(count("backward", "flops"), 10 * 6 * 10 * 8);
  EXPECT_EQ(count("forward_backward", "flops"), 14 * 6 * 10 * 8);
  EXPECT_EQ(count("forward", "bytes"), 4 * 192 * 4);
  EXPECT_EQ(count("backward", "bytes"), 8 * 192 * 4);
}

}  // namespace
}  // namespace assay
