#include <assay/compile.h>

#include "compile/parts/captured_step.h"
#include "operations.h"

namespace {

class OwnKernels : public assay::Compile {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  explicit OwnKernels(std::int64_t update_multiprocessors)
      : shared_{std::make_shared<assay::fused::FinishedWeights>(
            static_cast<int>(update_multiprocessors))} {}

  void select(assay::Ops& ops, const assay::Pinned& pinned) override {
    assay::fused::select(ops, pinned, shared_);
  }

 protected:
  assay::fused::WeightCopies& copies() { return *shared_.copies; }
  assay::fused::FinishedWeights& finished() { return *shared_.finished; }
  // Those whose weights were changed since, ahead of a call that would not notice.
  std::function<void()> refreshing() const {
    return [copies = shared_.copies] { copies->refresh(); };
  }

 private:
  assay::fused::Shared shared_;
};

class Fused final : public OwnKernels {
 public:
  Fused() : OwnKernels(0) {}
  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    if (!context.device.is_cuda()) throw assay::Unsupported("fused needs a CUDA device");
    copies().keep(assay::fused::can_keep_copies(context));
    return {[program, pass] { program.before(pass); }, [program, pass] { program.run(pass); }};
  }
};

class FusedGraph final : public OwnKernels {
 public:
  static std::vector<assay::ParameterInfo> options() {
    return {left_out_at_default(assay::integer_parameter(
        "update_multiprocessors", 0, 0, 64,
        "Multiprocessors on which AdamW updates weights beside the backward of those before them, "
        "where it need not wait for all gradients (a limit of their norm, a loss scale); 0: "
        "none."))};
  }
  explicit FusedGraph(const assay::Options& options)
      : OwnKernels(assay::integer_option(options, "update_multiprocessors")) {}

  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    const bool alone = context.device.is_cuda() && assay::fused::can_keep_copies(context);
    if (context.device.is_cuda()) copies().keep(alone);
    finished().begin(alone);
    auto step = assay::compile::captured_step(program, pass, context, "fused_graph");
    return {[refresh = refreshing(), before = std::move(step.before)] {
              refresh();
              before();
            },
            std::move(step.run)};
  }
};

}  // namespace

ASSAY_PLUGINS(assay::plugin<Fused>(
                  "fused",
                  "Own kernels around a model's products: RMSNorm with the residual (where "
                  "the experiment names no norm), RoPE, SwiGLU, GELU, embedding, cross-entropy, "
                  "AdamW. One product for q, k and v and one for gate and up, by cuBLASLt's "
                  "fastest algorithm for 16 bit. Attention is the experiment's; "
                  "what a kernel does not take is LibTorch's. Under autocast one rank "
                  "keeps 16-bit copies of the weights from call to call, written by AdamW's "
                  "pass: a step without an optimizer finds them in place."),
              assay::plugin<FusedGraph>("fused_graph",
                                        "The same as fused; the step captured as by cuda_graph."))
