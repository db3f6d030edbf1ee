#include "compile/parts/captured_step.h"

#ifdef ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include "model/captured_call.h"

namespace assay::compile {

namespace {

void check_capturable(const CaseContext& context, const std::string& variant) {
  if (!context.device.is_cuda()) throw Unsupported(variant + " needs a CUDA device");
  if (!context.communication || context.group.size == 1) return;
  if (!context.communication.traits().capturable) {
    throw Unsupported("this communication cannot be captured in a CUDA graph");
  }
}

#ifdef ASSAY_WITH_CUDA

// Libraries allocate workspaces and choose algorithms in their first calls, which must precede a
// capture.
constexpr int warmup_calls = 3;

struct CapturedPass {
  model::CapturedCall before;
  model::CapturedCall run;
};

Step capture(ProgramHandle program, const std::string& pass) {
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
    // Frees the last run's memory, cuBLAS's too, before the graphs take theirs.
    before();
    c10::cuda::device_synchronize();
    at::cuda::clearCublasWorkspaces();
    c10::cuda::CUDACachingAllocator::emptyCache();
    const auto pool = at::cuda::graph_pool_handle();
    captured->before.capture(pool, before);
    captured->run.capture(pool, run);
  }
  c10::cuda::device_synchronize();
  return {[captured] { captured->before.replay(); }, [captured] { captured->run.replay(); }};
}

#else

Step capture(ProgramHandle, const std::string&) { throw Unsupported("this build has no CUDA"); }

#endif

}  // namespace

Step captured_step(ProgramHandle program, const std::string& pass, const CaseContext& context,
                   const std::string& variant) {
  check_capturable(context, variant);
  return capture(program, pass);
}

}  // namespace assay::compile
