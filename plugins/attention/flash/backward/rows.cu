#include "rows.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

#include "attention/flash/launch.cuh"
#include "attention/flash/softmax.cuh"
#include "key_parts.cuh"

namespace assay::flash {
namespace {

constexpr int threads = 256;
template <class Element>
constexpr int piece = 16 / sizeof(Element);  // elements in 16 bytes

__device__ std::int64_t offset(const Operand& operand, int batch, int head, int row) {
  return batch * operand.batch_stride + head * operand.head_stride + row * operand.row_stride;
}

// Of a piece of each.
template <class Element>
__device__ float dot_of(uint4 left, uint4 right) {
  const std::uint32_t a[] = {left.x, left.y, left.z, left.w};
  const std::uint32_t b[] = {right.x, right.y, right.z, right.w};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<Element, float>) {
      sum = __fmaf_rn(__uint_as_float(a[i]), __uint_as_float(b[i]), sum);
    } else {
      const float2 x = unpack<Element>(a[i]), y = unpack<Element>(b[i]);
      sum = __fmaf_rn(x.x, y.x, sum);
      sum = __fmaf_rn(x.y, y.y, sum);
    }
  }
  return sum;
}

// Blocks of threads are [rows, batch · heads], numbered in one dimension: the others of a grid end
// at 65,535.
struct RowBlock {
  int head, batch;
  int head_of_all;  // of batch · heads
  int number;       // among those of the head

  __device__ explicit RowBlock(const Shape& shape) {
    const unsigned heads = static_cast<unsigned>(shape.heads) * shape.batch;
    head_of_all = static_cast<int>(blockIdx.x % heads);
    number = static_cast<int>(blockIdx.x / heads);
    head = head_of_all % shape.heads;
    batch = head_of_all / shape.heads;
  }
};

// `lanes` threads share a row, a piece each.
template <class Element, int lanes>
__global__ void __launch_bounds__(threads) prepare(const __grid_constant__ RowArguments arguments) {
  const std::int64_t all_threads = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < arguments.counted;
       i += all_threads) {
    arguments.counters[i] = 0;
  }
  const Shape& shape = arguments.shape;
  const RowBlock block(shape);
  const int row = block.number * (threads / lanes) + threadIdx.x / lanes;
  if (row >= arguments.rows) return;  // as all of a warp: rows are whole blocks
  const int lane = threadIdx.x % lanes;
  const bool inside = row < shape.queries;

  float sum = 0;
  if (inside && lane * piece<Element> < shape.head) {
    const auto read = [&](const Operand& operand) {
      return __ldg(reinterpret_cast<const uint4*>(static_cast<const Element*>(operand.data) +
                                                  offset(operand, block.batch, block.head, row)) +
                   lane);
    };
    sum = dot_of<Element>(read(arguments.out), read(arguments.dout));
  }
#pragma unroll
  for (int other = 1; other < lanes; other *= 2) sum += __shfl_xor_sync(~0u, sum, other);

  const std::int64_t padded = std::int64_t{block.head_of_all} * arguments.rows + row;
  if (lane == 0) {
    constexpr float log2_e = 1.44269504088896f;
    const float lse =
        inside ? arguments.forward_lse[std::int64_t{block.head_of_all} * shape.queries + row]
               : -INFINITY;
    if constexpr (std::is_same_v<Element, float>) {
      arguments.lse[padded] = lse == -INFINITY ? INFINITY : lse;
    } else {
      // Of scores that are rounded by more than a weight can bear, those next to the largest count
      // as it: its weight is 1, whatever order of adding has made of it here.
      constexpr float next_to = 0x1p-18F;
      const float rounded = fabsf(lse) * log2_e > rounded_beyond ? fabsf(lse) * next_to : 0;
      arguments.lse[padded] = lse == -INFINITY ? INFINITY : (lse - rounded) * log2_e;
    }
    arguments.minus_dot[padded] = -sum;
  }
  auto* const sums =
      reinterpret_cast<float4*>(arguments.query_sums + padded * arguments.summed_head);
  for (int i = lane; i < arguments.summed_head / 4; i += lanes) sums[i] = make_float4(0, 0, 0, 0);
}

constexpr int eight = 8;  // columns

__device__ void write_eight(float* to, const float (&numbers)[eight]) {
  auto* const fours = reinterpret_cast<float4*>(to);
  fours[0] = make_float4(numbers[0], numbers[1], numbers[2], numbers[3]);
  fours[1] = make_float4(numbers[4], numbers[5], numbers[6], numbers[7]);
}
template <class Element>
__device__ void write_eight(Element* to, const float (&numbers)[eight]) {
  *reinterpret_cast<uint4*>(to) =
      make_uint4(pack<Element>(numbers[0], numbers[1]), pack<Element>(numbers[2], numbers[3]),
                 pack<Element>(numbers[4], numbers[5]), pack<Element>(numbers[6], numbers[7]));
}

// Eight columns of rows g and g + 8 of a warp's 16: what four lanes had of 32 fours.
struct Piece {
  float upper[eight], lower[eight];
};

// The sum of `count` pieces, `stride` fours apart, times `scale`.
__device__ Piece add_pieces(const float4* fours, int count, std::int64_t stride, float scale) {
  Piece sum = {};
  for (int number = 0; number < count; ++number, fours += stride) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 four = __ldcs(fours + i);
      sum.upper[2 * i] += four.x;
      sum.upper[2 * i + 1] += four.y;
      sum.lower[2 * i] += four.z;
      sum.lower[2 * i + 1] += four.w;
    }
  }
#pragma unroll
  for (int i = 0; i < eight; ++i) {
    sum.upper[i] *= scale;
    sum.lower[i] *= scale;
  }
  return sum;
}

// first: the place of the piece's first element; rows from `rows` on are left out.
template <class Element>
__device__ void write_piece(const Piece& piece, const Operand& to, const Place& first, int rows) {
  auto* const elements = static_cast<Element*>(const_cast<void*>(to.data));
  const auto write = [&](int row, const float(&numbers)[eight]) {
    if (row >= rows) return;
    write_eight(elements + offset(to, first.batch, first.head, row) + first.column, numbers);
  };
  write(first.row, piece.upper);
  write(first.row + 8, piece.lower);
}

template <class Element>
__device__ void finish_queries(const RowArguments& arguments) {
  const Shape& shape = arguments.shape;
  const int pieces = shape.head / eight;
  const RowBlock block(shape);
  const int number = block.number * threads + threadIdx.x;
  const int column = number % pieces, pair = number / pieces;
  const int row = pair / 8 * 16 + pair % 8;
  if (row >= shape.queries) return;
  const std::int64_t group = (std::int64_t{block.head_of_all} * arguments.rows + row / 16 * 16) /
                                 16 * (arguments.summed_head / eight) +
                             column;
  const auto* const sums = reinterpret_cast<const float4*>(arguments.query_sums);
  write_piece<Element>(add_pieces(sums + group * warp + pair % 8 * 4, 1, 0, shape.natural_scale),
                       arguments.dq, {column * eight, row, block.head, block.batch}, shape.queries);
}

// A thread's piece of dK or dV of a tile of keys: blocks of threads are [pieces, tiles in parts,
// batch · heads of k], numbered from the last.
template <class Element>
__device__ void finish_keys(const RowArguments& arguments, int block) {
  const Shape& shape = arguments.shape;
  const KeyParts& parts = arguments.parts;
  const int head = block % (shape.kv_heads * shape.batch);
  block /= shape.kv_heads * shape.batch;
  const int tile = block % parts.tiles_with[1];
  const int number = block / parts.tiles_with[1] * threads + threadIdx.x;
  const int pieces = shape.head / eight;
  const int column = number % pieces, gradient = number / pieces % 2, pair = number / pieces / 2;
  const int key_warp = pair / 8;
  if (key_warp >= arguments.key_warps) return;
  int count = 1;
  while (count < parts.count && tile < parts.tiles_with[count]) ++count;

  const std::int64_t start = start_of_part(parts, head * arguments.key_tiles + tile, 0,
                                           arguments.key_warps, key_warp, arguments.summed_head);
  const std::int64_t stride = arguments.key_warps * fours_of_part(arguments.summed_head);
  const int group = gradient * (arguments.summed_head / eight) + column;
  const auto* const first =
      reinterpret_cast<const float4*>(parts.partial) + start + group * warp + pair % 8 * 4;
  const Piece piece = add_pieces(first, count, stride, gradient == 0 ? shape.natural_scale : 1);
  const int row = (tile * arguments.key_warps + key_warp) * 16 + pair % 8;
  write_piece<Element>(piece, gradient == 0 ? arguments.dk : arguments.dv,
                       {column * eight, row, head % shape.kv_heads, head / shape.kv_heads},
                       shape.keys);
}

template <class Element>
__global__ void __launch_bounds__(threads) finish(const __grid_constant__ RowArguments arguments) {
  wait_for_kernel_before();
  if (blockIdx.x < arguments.query_blocks) {
    finish_queries<Element>(arguments);
  } else {
    finish_keys<Element>(arguments, static_cast<int>(blockIdx.x - arguments.query_blocks));
  }
}

// `count` blocks for each head.
unsigned grid_of(const Shape& shape, int count) {
  return static_cast<unsigned>(count) * shape.heads * shape.batch;
}

template <class Element>
void prepare_of(const RowArguments& arguments, cudaStream_t stream) {
  const auto launch = [&](auto* kernel, int lanes) {
    const int rows_of_block = threads / lanes;
    const int blocks = (arguments.rows + rows_of_block - 1) / rows_of_block;
    // Without launch_behind(): the backward loads what came before it ahead of its wait.
    kernel<<<grid_of(arguments.shape, blocks), threads, 0, stream>>>(arguments);
  };
  constexpr int narrow = 64 / piece<Element>, wide = 128 / piece<Element>;
  if (arguments.shape.head <= 64) return launch(prepare<Element, narrow>, narrow);
  if (arguments.shape.head <= 128) return launch(prepare<Element, wide>, wide);
  if constexpr (2 * wide <= warp) {
    launch(prepare<Element, 2 * wide>, 2 * wide);
  } else {
    throw std::runtime_error("fp32 heads above 128 have no backward here");
  }
}

template <class Element>
void finish_of(const RowArguments& arguments, cudaStream_t stream) {
  const Shape& shape = arguments.shape;
  const int pieces = shape.head / eight;
  const auto blocks_of = [](int work) { return (work + threads - 1) / threads; };
  RowArguments whole = arguments;
  whole.query_blocks = grid_of(shape, blocks_of((shape.queries + 15) / 16 * 8 * pieces));
  const unsigned key_blocks =
      static_cast<unsigned>(blocks_of(arguments.key_warps * 8 * 2 * pieces)) *
      arguments.parts.tiles_with[1] * shape.kv_heads * shape.batch;
  launch_behind(finish<Element>, whole.query_blocks + key_blocks, threads, 0, stream, whole);
}

// Calls `use` with an element of the format.
void with_element(Format format, const auto& use) {
  switch (format) {
    case Format::bf16:
      return use(__nv_bfloat16());
    case Format::fp16:
      return use(__half());
    case Format::fp32:
      return use(float());
  }
}

}  // namespace

void prepare_rows(const RowArguments& arguments, Format format, cudaStream_t stream) {
  with_element(format, [&]<class Element>(Element) { prepare_of<Element>(arguments, stream); });
  require(cudaGetLastError(), "the kernel before the backward did not start");
}

void finish_rows(const RowArguments& arguments, Format format, cudaStream_t stream) {
  with_element(format, [&]<class Element>(Element) { finish_of<Element>(arguments, stream); });
}

}  // namespace assay::flash
