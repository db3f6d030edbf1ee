#include "plugins/support.h"

namespace assay {
namespace {

TEST(Mine, CountsTwoOperationsAMultiplyAdd) {
  const auto plugin = test::load<WorkloadBoundary>("workload", "mine", "mine");
  CaseContext context;
  context.parameters["n"] = std::int64_t{3};
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(plugin->build(context, program));
  throw_unless_ok(program->run("forward"));
  std::vector<Count> counts;
  throw_unless_ok(program->counts("forward", counts));
  EXPECT_EQ(counts.at(0).metric, "flops");
  EXPECT_EQ(counts.at(0).value, 54);  // 2 · 3³
}

}  // namespace
}  // namespace assay
