#include <assay/compile.h>

namespace {

class Eager final : public assay::Compile {
 public:
  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext&) override {
    return {[program, pass] { program.before(pass); }, [program, pass] { program.run(pass); }};
  }
};

}  // namespace

ASSAY_PLUGIN(Eager, "eager", "Every operation launched on its own; head and loss are not fused.")
