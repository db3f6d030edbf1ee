// Weights are updated beside the backward where the captured step lets them.

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "conformance/tiny_model.h"
#include "fused_here.h"
#include "gpu/captured_graph.h"
#include "gpu/device.h"
#include "plugins/support.h"

namespace assay {
namespace {

class GpuEarlyUpdates : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::why_no_fused(); !why.empty()) GTEST_SKIP() << why;
  }

  // A model's train step, made ready with so many multiprocessors for updates, and captured anew.
  static test::CapturedGraph captured(std::int64_t multiprocessors) {
    const auto plugin = test::load<CompileBoundary>("compile", "fused", "fused_graph",
                                                    {{"update_multiprocessors", multiprocessors}});
    CaseContext context = conformance::textbook_context(cuda);
    context.precision.autocast = at::kBFloat16;
    throw_unless_ok(plugin->select(context.ops, {}));
    auto owned = std::make_unique<conformance::TinyModel>(context);
    conformance::TinyModel& model = *owned;
    detail::ProgramGuard program(std::move(owned));
    GuardedStep step;
    throw_unless_ok(plugin->prepare(program, "train_step", context, step));
    model.before("train_step");
    return test::CapturedGraph([&] { model.run("train_step"); });
  }

  // The first of the kernels that stay on some multiprocessors, if any.
  static std::optional<cudaGraphNode_t> first_early(const test::CapturedGraph& graph) {
    for (const auto& [node, name] : graph.kernels()) {
      if (name.find("Gathered") != std::string::npos) return node;
    }
    return std::nullopt;
  }
};

TEST_F(GpuEarlyUpdates, NeitherWaitForAllOfTheBackwardNorHoldItUp) {
  const auto graph = captured(8);
  const auto early = first_early(graph);
  ASSERT_TRUE(early);
  const auto behind = graph.behind(*early);
  const auto kernels = graph.kernels();
  EXPECT_TRUE(std::ranges::any_of(kernels, [&](const auto& kernel) {
    return kernel.first != *early && !behind.contains(kernel.first) &&
           !graph.behind(kernel.first).contains(*early);
  })) << "no kernel runs beside it";
}

TEST_F(GpuEarlyUpdates, AreNoneWhereNoMultiprocessorIsTheirs) {
  EXPECT_FALSE(first_early(captured(0)));
}

}  // namespace
}  // namespace assay
