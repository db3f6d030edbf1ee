#include "plugins/support.h"

namespace assay {
namespace {

TEST(Mine, ComputesMatrixProductsInBf16) {
  const auto plugin = test::load<PrecisionBoundary>("precision", "mine", "mine");
  PrecisionPolicy policy;
  throw_unless_ok(plugin->policy(policy));
  EXPECT_EQ(policy.compute(), at::kBFloat16);
  EXPECT_EQ(policy.parameters, at::kFloat);
}

}  // namespace
}  // namespace assay
