#include <assay/compile.h>

#include "compile/parts/captured_step.h"

namespace {

class CudaGraph final : public assay::Compile {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    return assay::compile::captured_step(program, pass, context, "cuda_graph");
  }
};

}  // namespace

ASSAY_PLUGIN(
    CudaGraph, "cuda_graph",
    "The whole step captured in a CUDA graph and replayed; head and loss are not fused into one.")
