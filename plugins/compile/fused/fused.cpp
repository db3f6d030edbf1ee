#include <assay/compile.h>

#include "compile/parts/captured_step.h"
#include "operations.h"

namespace {

class OwnKernels : public assay::Compile {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  void select(assay::Ops& ops, const assay::Pinned& pinned) override {
    assay::fused::select(ops, pinned, shared_);
  }

 protected:
  assay::fused::WeightCopies& copies() { return *shared_.copies; }
  // Those whose weights were changed since, ahead of a call that would not notice.
  std::function<void()> refreshing() const {
    return [copies = shared_.copies] { copies->refresh(); };
  }

 private:
  assay::fused::Shared shared_;
};

class Fused final : public OwnKernels {
 public:
  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    if (!context.device.is_cuda()) throw assay::Unsupported("fused needs a CUDA device");
    copies().keep(assay::fused::can_keep_copies(context));
    return {[program, pass] { program.before(pass); }, [program, pass] { program.run(pass); }};
  }
};

class FusedGraph final : public OwnKernels {
 public:
  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    if (context.device.is_cuda()) copies().keep(assay::fused::can_keep_copies(context));
    auto step = assay::compile::captured_step(program, pass, context, "fused_graph");
    return {[refresh = refreshing(), before = std::move(step.before)] {
              refresh();
              before();
            },
            std::move(step.run)};
  }
};

}  // namespace

ASSAY_PLUGINS(
    assay::plugin<Fused>(
        "fused",
        "Own kernels around a model's products: RMSNorm with the residual (where "
        "the experiment names no norm; a LayerNorm stays), RoPE, SwiGLU, GELU, embedding, "
        "cross-entropy, AdamW, behind the gradients' norm where that is limited. Head and loss are "
        "not fused into one. One product for q, k and v and one for gate and up, by cuBLASLt's "
        "fastest algorithm for 16 bit. Attention is the experiment's; "
        "what a kernel does not take is LibTorch's. In fp32, TF32 off, the backward computes "
        "SwiGLU's and GELU's output again, which is not kept. Gradients of weights leave the "
        "products in the weights' own dtype. Under autocast one rank keeps 16-bit copies of the "
        "weights from call to call, written by AdamW's pass: a step without an optimizer finds "
        "them in place."),
    assay::plugin<FusedGraph>(
        "fused_graph",
        "The same as fused, so head and loss are not fused into one; the step "
        "captured as by cuda_graph."))
