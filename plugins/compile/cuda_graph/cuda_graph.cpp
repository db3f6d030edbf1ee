#include <assay/compile.h>

#ifdef ASSAY_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include "model/captured_call.h"

namespace {

// Throws Unsupported for a step that cannot be captured.
void check_capturable(const assay::CaseContext& context) {
  if (!context.device.is_cuda()) throw assay::Unsupported("cuda_graph needs a CUDA device");
  if (!context.communication || context.group.size == 1) return;
  if (!context.communication.traits().capturable) {
    throw assay::Unsupported("this communication cannot be captured in a CUDA graph");
  }
}

#ifdef ASSAY_WITH_CUDA

// Libraries allocate workspaces and choose algorithms in their first calls, which must precede a
// capture.
constexpr int warmup_calls = 3;

struct CapturedPass {
  assay::model::CapturedCall before;
  assay::model::CapturedCall run;
};

#endif

// Records a whole pass once and replays it: the host launches one graph instead of every kernel.
// `before` is recorded too, in a graph of its own.
class CudaGraph final : public assay::Compile {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  assay::Step prepare(assay::ProgramHandle program, const std::string& pass,
                      const assay::CaseContext& context) override {
    check_capturable(context);
    return capture(program, pass);
  }

 private:
#ifdef ASSAY_WITH_CUDA
  static assay::Step capture(assay::ProgramHandle program, const std::string& pass) {
    const auto before = [&] { program.before(pass); };
    const auto run = [&] { program.run(pass); };

    c10::cuda::device_synchronize();
    auto captured = std::make_shared<CapturedPass>();
    {
      const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
      for (int i = 0; i < warmup_calls; ++i) {
        before();
        run();
      }
      // Frees the last run's memory before the graphs take theirs.
      before();
      c10::cuda::device_synchronize();
      c10::cuda::CUDACachingAllocator::emptyCache();
      const auto pool = at::cuda::graph_pool_handle();
      captured->before.capture(pool, before);
      captured->run.capture(pool, run);
    }
    c10::cuda::device_synchronize();
    return {[captured] { captured->before.replay(); }, [captured] { captured->run.replay(); }};
  }
#else
  static assay::Step capture(assay::ProgramHandle, const std::string&) {
    throw assay::Unsupported("this build has no CUDA");
  }
#endif
};

}  // namespace

ASSAY_PLUGIN(CudaGraph, "cuda_graph", "The whole step captured in a CUDA graph and replayed.")
