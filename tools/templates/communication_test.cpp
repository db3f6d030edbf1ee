#include <ATen/ops/ones.h>

#include "plugins/support.h"

namespace assay {
namespace {

TEST(Mine, OneRankKeepsItsGradients) {
  const auto plugin = test::load<CommunicationBoundary>("communication", "mine", "mine");
  auto parameter = at::ones({3}).requires_grad_();
  throw_unless_ok(plugin->attach({{{"weight", parameter}}, {{"block", {0}}}}, Mesh(), {}));
  parameter.mutable_grad() = at::ones({3}) * 2;
  throw_unless_ok(plugin->backward_finished());
  EXPECT_TRUE(parameter.grad().equal(at::ones({3}) * 2));
}

}  // namespace
}  // namespace assay
