#include "model/operation_program.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace assay::model {
namespace {

std::map<std::string, at::Tensor> outputs_of(OperationProgram& program, const std::string& pass) {
  program.before(pass);
  program.run(pass);
  std::map<std::string, at::Tensor> outputs;
  for (const auto& output : program.outputs(pass)) outputs[output.name] = output.tensor;
  return outputs;
}

at::Tensor leaf(double value) { return at::full({4}, value).requires_grad_(); }

// The gradient of a sum is that of both its terms: whoever keeps it in each copies it once.
TEST(OperationProgram, LeavesThatShareAGradientHaveItOnce) {
  const at::Tensor a = leaf(2), b = leaf(5);
  OperationProgram program(
      "sum", [&](std::vector<at::Tensor>& results) { results.push_back((a + b) * 3); },
      {{"a", a}, {"b", b}}, {{"out", at::full({4}, 7.0)}});
  for (const std::string pass : {"backward", "forward_backward"}) {
    const auto outputs = outputs_of(program, pass);
    ASSERT_EQ(outputs.size(), 3U) << pass;
    EXPECT_TRUE(outputs.at("out").equal(at::full({4}, 21.0))) << pass;
    EXPECT_TRUE(outputs.at("grad.a").equal(at::full({4}, 21.0))) << pass;
    EXPECT_EQ(outputs.at("grad.a").data_ptr(), outputs.at("grad.b").data_ptr()) << pass;
  }
}

TEST(OperationProgram, AGradientLiesAsItsLeafDoes) {
  const at::Tensor a = at::full({2, 3}, 2.0).requires_grad_();
  OperationProgram program("turned",
                           [&](std::vector<at::Tensor>& results) { results.push_back(a.t() * 3); },
                           {{"a", a}}, {{"out", at::arange(6.0).reshape({3, 2})}});
  const auto gradient = outputs_of(program, "backward").at("grad.a");
  EXPECT_EQ(gradient.strides(), a.strides());
  EXPECT_TRUE(gradient.equal(at::arange(6.0).reshape({3, 2}).t() * 3));
}

// A gradient of few rows is a tensor of another class.
TEST(OperationProgram, RefusesAGradientOfAClassOfItsOwn) {
  const at::Tensor table = at::full({5, 2}, 1.0).requires_grad_();
  const at::Tensor rows = at::full({3}, 1, at::kLong);
  OperationProgram program(
      "lookup",
      [&](std::vector<at::Tensor>& results) {
        results.push_back(at::embedding(table, rows, /*padding_idx=*/-1,
                                        /*scale_grad_by_freq=*/false, /*sparse=*/true));
      },
      {{"table", table}}, {{"out", at::full({3, 2}, 1.0)}});
  program.before("backward");
  program.run("backward");
  try {
    program.outputs("backward");
    FAIL() << "taken";
  } catch (const PluginFailure& failure) {
    EXPECT_EQ(failure.status().outcome, Outcome::wrong);
    EXPECT_THAT(failure.status().reason,
                ::testing::StartsWith("grad.table is a tensor of a class"));
  }
}

TEST(OperationProgram, EachCallHasGradientsOfItsOwn) {
  const at::Tensor a = leaf(2), b = leaf(5);
  OperationProgram program("product",
                           [&](std::vector<at::Tensor>& results) { results.push_back(a * a); },
                           {{"a", a}, {"b", b}}, {{"out", at::full({4}, 7.0)}});
  for (int call = 0; call < 2; ++call) {
    const auto outputs = outputs_of(program, "forward_backward");
    EXPECT_TRUE(outputs.at("grad.a").equal(at::full({4}, 28.0))) << "not added to the last call's";
    EXPECT_FALSE(outputs.contains("grad.b")) << "b takes no part";
  }
  EXPECT_FALSE(outputs_of(program, "forward").contains("grad.a"));
}

}  // namespace
}  // namespace assay::model
