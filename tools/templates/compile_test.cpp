#include "plugins/support.h"

namespace assay {
namespace {

class MineProgram final : public Program {
 public:
  explicit MineProgram(std::vector<std::string>& calls) : calls_(calls) {}
  void before(const std::string& pass) override { calls_.push_back("before " + pass); }
  void run(const std::string& pass) override { calls_.push_back("run " + pass); }

 private:
  std::vector<std::string>& calls_;
};

TEST(Mine, CallsThePassItWasPreparedFor) {
  const auto plugin = test::load<CompileBoundary>("compile", "mine", "mine");
  std::vector<std::string> calls;
  detail::ProgramGuard program(std::make_unique<MineProgram>(calls));
  GuardedStep step;
  throw_unless_ok(plugin->prepare(program, "forward", {}, step));
  throw_unless_ok(step.before());
  throw_unless_ok(step.run());
  EXPECT_EQ(calls, (std::vector<std::string>{"before forward", "run forward"}));
}

}  // namespace
}  // namespace assay
