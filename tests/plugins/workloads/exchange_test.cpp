// Another program's tensors are judged like a plugin's. These programs use LibTorch's operations.

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/model_config.h"
#include "model/random.h"
#include "model/transformer.h"
#include "plugins/support.h"

namespace assay {
namespace {

bool has_gradients(const std::string& pass) {
  return pass == "backward" || pass == "forward_backward";
}

at::Tensor& named(std::vector<NamedTensor>& tensors, const std::string& name) {
  for (auto& tensor : tensors) {
    if (tensor.name == name) return tensor.tensor;
  }
  throw std::out_of_range(name);
}

Status verify(const test::Case& tested, const std::string& pass, const Exchange& exchange,
              Verification& verification) {
  return tested.workload->verify_exchange(tested.context, pass, exchange, verification);
}

void finish(Exchange& exchange, const at::Tensor& out, const std::string& pass) {
  exchange.outputs.push_back({"out", out.detach()});
  if (!has_gradients(pass)) return;
  const auto dout = at::randn(out.sizes(), model::seeded_generator(at::kCPU, 3), at::kFloat)
                        .to(out.scalar_type());
  torch::autograd::backward({out}, {dout});
  for (auto& [name, input] : exchange.inputs) {
    exchange.outputs.push_back({"grad." + name, input.grad()});
    input = input.detach();
  }
  exchange.inputs.push_back({"dout", dout});
}

at::Tensor leaf(std::vector<std::int64_t> sizes, at::ScalarType dtype, std::uint64_t seed) {
  return at::randn(sizes, model::seeded_generator(at::kCPU, seed), at::kFloat)
      .to(dtype)
      .requires_grad_();
}

Exchange attention_exchange(const std::string& pass, at::ScalarType dtype, bool causal,
                            std::int64_t seq_len = 33) {
  Exchange exchange;
  for (const char* name : {"q", "k", "v"}) {
    exchange.inputs.push_back({name, leaf({2, 1, seq_len, 8}, dtype, 7 + name[0])});
  }
  auto& in = exchange.inputs;
  const auto out =
      at::scaled_dot_product_attention(in[0].tensor, in[1].tensor, in[2].tensor, {}, 0, causal);
  finish(exchange, out, pass);
  return exchange;
}

test::Case attention_case(const std::string& precision, bool causal, std::int64_t seq_len = 33) {
  auto tested = test::make_case({"attention", "naive", "rmsnorm", precision});
  tested.context.ops.attention = nullptr;  // the other program has it
  tested.context.parameters = {{"batch", std::int64_t{2}}, {"heads", std::int64_t{1}},
                               {"seq_len", seq_len},       {"d_head", std::int64_t{8}},
                               {"causal", causal},         {"kv_heads", std::int64_t{0}},
                               {"window", std::int64_t{0}}};
  return tested;
}

TEST(AttentionExchange, AcceptsWhatIsRight) {
  for (const bool causal : {true, false}) {
    for (const auto& [precision, dtype] :
         {std::pair{"fp32", at::kFloat}, std::pair{"bf16", at::kBFloat16}}) {
      for (const auto& pass : test::call_passes) {
        Verification found;
        throw_unless_ok(verify(attention_case(precision, causal), pass,
                               attention_exchange(pass, dtype, causal), found));
        EXPECT_TRUE(found.checked);
        EXPECT_LE(found.error, found.tolerance) << precision << " " << pass << " " << found.worst;
      }
    }
  }
}

TEST(AttentionExchange, RefusesAnotherMaskAndAnyWrongGradient) {
  Verification found;
  throw_unless_ok(verify(attention_case("fp32", true), "forward",
                         attention_exchange("forward", at::kFloat, false), found));
  EXPECT_GT(found.error, found.tolerance);
  for (const char* name : {"grad.q", "grad.k", "grad.v"}) {
    auto exchange = attention_exchange("backward", at::kFloat, true);
    named(exchange.outputs, name).mul_(1.01);
    Verification gradient;
    throw_unless_ok(verify(attention_case("fp32", true), "backward", exchange, gradient));
    EXPECT_GT(gradient.error, gradient.tolerance);
    EXPECT_EQ(gradient.worst, name);
  }
}

// The reference handles more than 4096 queries in blocks; the keys' gradients are sums over all.
TEST(AttentionExchange, SeesEveryQueryOfALongBackward) {
  auto exchange = attention_exchange("backward", at::kFloat, true, 4099);
  const auto tested = attention_case("fp32", true, 4099);
  Verification right;
  throw_unless_ok(verify(tested, "backward", exchange, right));
  EXPECT_LE(right.error, right.tolerance) << right.worst;

  named(exchange.outputs, "grad.q").select(2, 4098).zero_();
  Verification wrong;
  throw_unless_ok(verify(tested, "backward", exchange, wrong));
  EXPECT_GT(wrong.error, wrong.tolerance);
}

TEST(AttentionExchange, SaysWhatIsMissingAndWhatDoesNotFit) {
  const auto tested = attention_case("fp32", true);
  Verification found;
  auto lacking = attention_exchange("backward", at::kFloat, true);
  lacking.outputs.pop_back();
  auto status = verify(tested, "backward", lacking, found);
  EXPECT_EQ(status.outcome, Outcome::error);
  EXPECT_EQ(status.reason, "the exchange lacks 'grad.v'");
  status = verify(tested, "forward", attention_exchange("forward", at::kBFloat16, true), found);
  EXPECT_EQ(status.reason,
            "the exchange's 'q' is BFloat16 [2, 1, 33, 8], the case asks for Float [2, 1, 33, 8]");
  EXPECT_FALSE(found.checked);
}

Exchange norm_exchange(const std::string& pass, at::ScalarType dtype, bool layernorm) {
  Exchange exchange;
  exchange.inputs = {{"x", leaf({19, 40}, dtype, 1)}, {"weight", leaf({40}, at::kFloat, 2)}};
  if (layernorm) exchange.inputs.push_back({"bias", leaf({40}, at::kFloat, 4)});
  const auto& in = exchange.inputs;
  const auto weight = in[1].tensor.to(dtype);
  finish(exchange,
         layernorm ? at::layer_norm(in[0].tensor, {40}, weight, in[2].tensor.to(dtype), 1e-5)
                   : at::rms_norm(in[0].tensor, {40}, weight, 1e-5),
         pass);
  return exchange;
}

TEST(NormExchange, AcceptsBothNormsAndRefusesAWrongGradient) {
  for (const auto& [precision, dtype] :
       {std::pair{"fp32", at::kFloat}, std::pair{"bf16", at::kBFloat16}}) {
    auto tested = test::make_case({"norm", "naive", "rmsnorm", precision});
    tested.context.parameters = {
        {"rows", std::int64_t{19}}, {"n_cols", std::int64_t{40}}, {"residual", false}};
    tested.context.ops.norm = nullptr;
    for (const bool layernorm : {false, true}) {
      for (const auto& pass : test::call_passes) {
        auto exchange = norm_exchange(pass, dtype, layernorm);
        Verification found;
        throw_unless_ok(verify(tested, pass, exchange, found));
        EXPECT_LE(found.error, found.tolerance) << precision << " " << pass << " " << found.worst;
        if (!has_gradients(pass)) continue;
        named(exchange.outputs, "grad.weight").mul_(1.2);
        Verification wrong;
        throw_unless_ok(verify(tested, pass, exchange, wrong));
        EXPECT_GT(wrong.error, wrong.tolerance);
        EXPECT_EQ(wrong.worst, "grad.weight");
      }
    }
  }
}

// Where the case names a norm, the exchange must match it.
TEST(NormExchange, MustAgreeWithTheNormThatTheCaseNames) {
  for (const bool layernorm : {false, true}) {
    auto tested = test::make_case({"norm", "naive", layernorm ? "layernorm" : "rmsnorm"});
    tested.context.parameters = {
        {"rows", std::int64_t{19}}, {"n_cols", std::int64_t{40}}, {"residual", false}};
    Verification found;
    throw_unless_ok(
        verify(tested, "forward", norm_exchange("forward", at::kFloat, layernorm), found));
    EXPECT_LE(found.error, found.tolerance);
    const auto other =
        verify(tested, "forward", norm_exchange("forward", at::kFloat, !layernorm), found);
    EXPECT_EQ(other.outcome, Outcome::error);
    EXPECT_EQ(other.reason, layernorm ? "the exchange lacks 'bias', but the case's norm has a bias"
                                      : "the exchange has 'bias', but the case's norm has no bias");
  }
}

// A model of another program: two layers of the toy's head size, in fp32, one call.
struct Model {
  explicit Model(const test::Case& tested, const std::string& architecture) {
    model::ModelConfig config;
    config.architecture = model::architecture_from_text(architecture);
    config.d_model = 16;
    config.d_ff = 24;
    config.layers = 2;
    config.heads = 2;
    config.vocab_size = 50;
    config.context = 12;
    model::Transformer transformer(config, tested.context.ops, at::kCPU, at::kFloat, 11);
    const auto tokens = model::random_tokens({2, 12}, 50, at::kCPU, 1);
    const auto targets = model::random_tokens({2, 12}, 50, at::kCPU, 2);
    const auto logits = transformer.forward(tokens);
    const auto loss = transformer.loss(logits, targets);
    torch::autograd::backward({loss}, {});
    exchange.inputs = {{"tokens", tokens}, {"targets", targets}};
    for (const auto& [name, tensor] : transformer.parameters()) {
      exchange.inputs.push_back({name, tensor.detach()});
      exchange.outputs.push_back({"grad." + name, tensor.grad()});
    }
    exchange.outputs.push_back({"loss", loss.detach()});
    exchange.outputs.push_back({"logits", logits.detach()});
  }

  Exchange exchange;
};

test::Case exchanging_model(const std::string& architecture) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, architecture, 4, 64);  // heads of 8
  return tested;
}

TEST(ModelExchange, AcceptsWhatIsRightAndRefusesWhatIsNot) {
  for (const char* architecture : {"swiglu", "gelu"}) {
    const auto tested = exchanging_model(architecture);
    const Model made(tested, architecture);
    for (const auto& pass : test::call_passes) {
      Verification found;
      throw_unless_ok(verify(tested, pass, made.exchange, found));
      EXPECT_TRUE(found.checked);
      EXPECT_LE(found.error, found.tolerance) << architecture << " " << pass << " " << found.worst;

      auto wrong = made.exchange;
      const char* name = pass == "inference"   ? "logits"
                         : has_gradients(pass) ? "grad.blocks.1.attention.k.weight"
                                               : "loss";
      named(wrong.outputs, name) = named(wrong.outputs, name) * 1.02;
      Verification refused;
      throw_unless_ok(verify(tested, pass, wrong, refused));
      EXPECT_GT(refused.error, refused.tolerance) << pass;
      EXPECT_EQ(refused.worst, name);
    }
  }
}

TEST(ModelExchange, SaysWhatIsMissingAndWhatDoesNotFit) {
  const auto tested = exchanging_model("swiglu");
  const Model made(tested, "swiglu");
  const auto complaint = [&](const std::string& pass, const std::string& without,
                             const at::Tensor& instead) {
    auto exchange = made.exchange;
    for (auto* side : {&exchange.inputs, &exchange.outputs}) {
      std::erase_if(*side, [&](const NamedTensor& tensor) { return tensor.name == without; });
    }
    if (instead.defined()) exchange.inputs.push_back({without, instead});
    Verification found;
    const auto status = verify(tested, pass, exchange, found);
    EXPECT_EQ(status.outcome, Outcome::error);
    return status.reason;
  };
  EXPECT_EQ(complaint("forward", "head.weight", {}), "the exchange lacks 'head.weight'");
  EXPECT_EQ(complaint("forward", "loss", {}), "the exchange lacks 'loss'");
  EXPECT_EQ(complaint("train_step", "loss", {}), "the exchange lacks 'losses'");
  EXPECT_EQ(complaint("forward", "blocks.1.norm1.weight", {}),
            "the exchanged model has 1 layer, two are needed");
  EXPECT_EQ(complaint("forward", "norm.weight", at::zeros({3})),
            "the exchange's 'norm.weight' is Float [3], the case asks for Float [16]");
  EXPECT_EQ(complaint("forward", "tokens", at::full({2, 12}, 50, at::kLong)),
            "the exchange has tokens or targets outside the vocabulary");
  EXPECT_EQ(complaint("forward", "norm.bias", at::zeros({16})),
            "the exchange has 'norm.bias', but the case's norm has no bias");
  EXPECT_EQ(complaint("forward", "embedding.weight", at::zeros({50, 12})),
            "the exchanged model is 12 wide, not a multiple of the head size 8");
}

TEST(ModelExchange, GradientsOfWholeNumbersAreNone) {
  const auto tested = exchanging_model("swiglu");
  auto exchange = Model(tested, "swiglu").exchange;
  auto& gradient = named(exchange.outputs, "grad.head.weight");
  gradient = at::zeros(gradient.sizes(), at::kLong);
  Verification found;
  const auto status = verify(tested, "backward", exchange, found);
  EXPECT_EQ(status.outcome, Outcome::error);
  EXPECT_EQ(status.reason, "the exchange's 'grad.head.weight' is Long, not a floating-point dtype");
}

}  // namespace
}  // namespace assay
