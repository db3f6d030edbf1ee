#include <ATen/Context.h>
#include <ATen/ops/tensor.h>

#include "plugins/support.h"

namespace assay {
namespace {

// The mean of 3² and 4² is 12.5; 3 / √12.5 = 0.848528, 4 / √12.5 = 1.131371.
TEST(Mine, TwoColumnsByHand) {
  const at::Device device = at::kCPU;
  if (device.is_cuda() && !at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  const auto plugin = test::load<NormBoundary>("norm", "mine", "mine");
  const auto row = [&](std::vector<double> values) {
    return at::tensor(values, at::TensorOptions().device(device).dtype(at::kFloat));
  };
  at::Tensor out;
  throw_unless_ok(plugin->forward({row({3, 4}).unsqueeze(0), row({1, 2}), {}, 0}, out));
  EXPECT_TRUE(out.allclose(row({0.848528, 2 * 1.131371})));
}

}  // namespace
}  // namespace assay
