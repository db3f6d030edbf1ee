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

// Calls `use` with the tile that serves a problem.
template <class Element>
auto with_tile(const Shape& shape, const auto& use) {
  if (shape.head <= 64) return use(Head64<Element>());
  if (shape.head <= 80) return use(Wider<Element, 80>());
  if (shape.head <= 96) return use(Wider<Element, 96>());
  return use(Wider<Element, 128>());
}

template <class T>
int part_of(const Shape& shape) {
  return balanced_part<T>(shape, processors_of_device());
}

template <class Element>
void forward_of(const Problem& problem, cudaStream_t stream) {
  with_tile<Element>(problem.shape, [&]<class T>(T) {
    launch_forward<T>(problem, stream, Grid::persistent, part_of<T>(problem.shape));
  });
}

}  // namespace

std::int64_t workspace_bytes(const Shape& shape) {
  // The tiles are the same for both types.
  return with_tile<__half>(shape, [&]<class T>(T) {
    const int tiles = (shape.queries + T::rows - 1) / T::rows * shape.heads * shape.batch;
    return Workspace<T>(parts_of<T>(shape, part_of<T>(shape)), tiles).bytes;
  });
}

void forward(const Problem& problem, cudaStream_t stream) {
  problem.bf16 ? forward_of<__nv_bfloat16>(problem, stream) : forward_of<__half>(problem, stream);
}

}  // namespace assay::flash
