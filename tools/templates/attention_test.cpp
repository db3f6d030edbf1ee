#include <ATen/Context.h>
#include <ATen/ops/rand.h>

#include "plugins/support.h"

namespace assay {
namespace {

TEST(Mine, AQueryThatSeesOneKeyGetsItsValue) {
  const at::Device device = at::kCPU;
  if (device.is_cuda() && !at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  const auto plugin = test::load<AttentionBoundary>("attention", "mine", "mine");
  const auto random = [&] { return at::rand({1, 2, 1, 16}, at::TensorOptions().device(device)); };
  const AttentionInputs in = {random(), random(), random(), /*causal=*/true, /*scale=*/0.25};
  at::Tensor out;
  throw_unless_ok(plugin->forward(in, out));
  EXPECT_TRUE(out.allclose(in.v));
}

}  // namespace
}  // namespace assay
