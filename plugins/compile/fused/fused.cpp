#include <assay/compile.h>

#include "adamw.h"
#include "compile/parts/captured_step.h"

namespace {

// No kind of plugin names the optimizer, so no experiment pins it.
class OwnKernels : public assay::Compile {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  void select(assay::Ops& ops, const assay::Pinned&) override {
    ops.optimizer = [others = ops.optimizer](const assay::OptimizerInputs& in) {
      assay::fused::adamw(in, others);
    };
  }
};

class Fused final : public OwnKernels {
 public:
  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    if (!context.device.is_cuda()) throw assay::Unsupported("fused needs a CUDA device");
    return {[program, pass] { program.before(pass); }, [program, pass] { program.run(pass); }};
  }
};

class FusedGraph final : public OwnKernels {
 public:
  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    return assay::compile::captured_step(program, pass, context, "fused_graph");
  }
};

}  // namespace

ASSAY_PLUGINS(
    assay::plugin<Fused>(
        "fused", "Own AdamW that writes 16-bit copies in the same pass; the rest as eager."),
    assay::plugin<FusedGraph>("fused_graph",
                              "Own AdamW that writes 16-bit copies in the same pass; the step "
                              "captured as by cuda_graph."))
