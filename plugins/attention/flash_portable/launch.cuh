#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "dots.cuh"
#include "forward.cuh"
#include "key_gradient.cuh"
#include "launch.h"
#include "query_gradient.cuh"
#include "tile.cuh"

// The kernels of one format, by head size.
namespace assay::flash_portable {

template <int size>
struct Head {
  static constexpr int value = size;
};

// Calls work(Head<…>()) with the least compiled size that holds a head of `head` elements. fp32
// needs multiples of 32, the others of 16.
template <class Work>
void with_head(int head, Work work) {
  if (head <= 32) return work(Head<32>());
  if (head <= 64) return work(Head<64>());
  if (head <= 96) return work(Head<96>());
  if (head <= 128) return work(Head<128>());
  return work(Head<256>());
}

template <class Tile, class Problem>
void launch(void (*kernel)(Problem), const Problem& problem, int tiles, int heads,
            cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>(tiles) * heads * problem.shape.batch * Tile::parts;
  kernel<<<blocks, Tile::threads, Tile::shared_bytes, stream>>>(problem);
}

template <class Element>
struct Launches {
  template <Pass pass, int head>
  using TileOf = Tile<Element, pass, head>;

  static std::vector<Needs> needs(int head) {
    std::vector<Needs> found;
    with_head(head, [&]<int size>(Head<size>) {
      using Forward = TileOf<Pass::forward, size>;
      using Queries = TileOf<Pass::query_gradient, size>;
      using Keys = TileOf<Pass::key_gradient, size>;
      found = {need<Forward>(forward_kernel<Forward>),
               need<Queries>(query_gradient_kernel<Queries>),
               need<Keys>(key_gradient_kernel<Keys>)};
    });
    return found;
  }

  static void forward(const ForwardProblem& problem, cudaStream_t stream) {
    const Shape& shape = problem.shape;
    with_head(shape.head, [&]<int size>(Head<size>) {
      using Tile = TileOf<Pass::forward, size>;
      launch<Tile>(forward_kernel<Tile>, problem, tiles_of(shape.queries, Tile::rows), shape.heads,
                   stream);
    });
  }

  static void backward(const BackwardProblem& problem, cudaStream_t stream) {
    const Shape& shape = problem.shape;
    const auto rows = std::int64_t(shape.batch) * shape.heads * shape.queries;
    const auto blocks = static_cast<unsigned>((rows + dots_rows - 1) / dots_rows);
    dots_kernel<Element><<<blocks, dots_threads, 0, stream>>>(problem);
    with_head(shape.head, [&]<int size>(Head<size>) {
      using Keys = TileOf<Pass::key_gradient, size>;
      launch<Keys>(key_gradient_kernel<Keys>, problem, tiles_of(shape.keys, Keys::rows),
                   shape.kv_heads, stream);
      using Queries = TileOf<Pass::query_gradient, size>;
      launch<Queries>(query_gradient_kernel<Queries>, problem,
                      tiles_of(shape.queries, Queries::rows), shape.heads, stream);
    });
  }

 private:
  template <class Tile, class Problem>
  static Needs need(void (*kernel)(Problem)) {
    return {reinterpret_cast<void (*)()>(kernel), Tile::threads, Tile::shared_bytes};
  }
};

template <class Element>
Launcher launcher() {
  using Made = Launches<Element>;
  return {Made::needs, Made::forward, Made::backward};
}

}  // namespace assay::flash_portable
