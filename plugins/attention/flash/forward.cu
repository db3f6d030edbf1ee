#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "launch.cuh"

// The compiled tiles, and which serves a problem.
namespace assay::flash {
namespace {

// 64 columns: the exponentials take as long as the products, so three warpgroups share the work of
// one block of keys and its barriers.
template <class Element>
using Head64 = Tile<Element, 64, /*groups=*/3, /*keys=*/128, /*stages=*/4, /*query_stages=*/2>;
// Wider heads need more registers for the output than three warpgroups have.
template <class Element, int head>
using Wider = Tile<Element, head, /*groups=*/2, /*keys=*/128, /*stages=*/2, /*query_stages=*/2>;

template <class Element>
void forward_of(const Problem& problem, cudaStream_t stream) {
  const int head = problem.shape.head;
  if (head <= 64) return launch_forward<Head64<Element>>(problem, stream);
  if (head <= 80) return launch_forward<Wider<Element, 80>>(problem, stream);
  if (head <= 96) return launch_forward<Wider<Element, 96>>(problem, stream);
  launch_forward<Wider<Element, 128>>(problem, stream);
}

}  // namespace

void forward(const Problem& problem, cudaStream_t stream) {
  problem.bf16 ? forward_of<__nv_bfloat16>(problem, stream) : forward_of<__half>(problem, stream);
}

}  // namespace assay::flash
