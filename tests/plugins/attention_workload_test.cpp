#include <map>

#include "support.h"

namespace assay {
namespace {

void set_shape(CaseContext& context, std::int64_t batch, std::int64_t heads, std::int64_t seq_len,
               std::int64_t d_head, bool causal) {
  context.parameters = {{"batch", batch},
                        {"heads", heads},
                        {"seq_len", seq_len},
                        {"d_head", d_head},
                        {"causal", causal}};
}

TEST(AttentionWorkload, AcceptsWhatIsRight) {
  for (const char* variant : {"naive", "math", "flash"}) {
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

// Above 4096 queries only some are checked, and all keys' gradients.
TEST(AttentionWorkload, AcceptsAndRefusesLongSequences) {
  auto tested = test::make_case({"attention", "flash"});
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
