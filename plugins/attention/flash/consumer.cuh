#pragma once

#include "instructions.cuh"
#include "mask.cuh"
#include "parts.cuh"
#include "planes/pairs.cuh"
#include "planes/write_floats.cuh"
#include "problem.h"
#include "score_products.cuh"
#include "softmax.cuh"
#include "tile.cuh"
#include "value_products.cuh"

// A warpgroup computes 64 queries of each tile: scores, softmax, weighted values.
namespace assay::flash {

// The order of warpgroups: each issues when the one before has. Named barrier 1 + g is the turn of
// group g; 0 is __syncthreads().
template <class T>
struct Turns {
  static constexpr bool taken = T::flow.turns && T::groups > 1;

  // The last group hands the first turn out.
  static __device__ void begin(int group) {
    if constexpr (taken) {
      if (group == T::groups - 1) arrive_named(1, 2 * warpgroup);
    }
  }
  static __device__ void take(int group) {
    if constexpr (taken) wait_named(1 + group, 2 * warpgroup);
  }
  static __device__ void pass(int group) {
    if constexpr (taken) {
      arrive_named(group == T::groups - 1 ? 1 : 2 + group, 2 * warpgroup);
    }
  }
  // The turn nobody takes.
  static __device__ void end(int group) {
    if constexpr (taken) {
      if (group == 0) wait_named(1, 2 * warpgroup);
    }
  }
};

// A warp's own value, read from its first lane: the compiler then computes what follows from it
// once a warp, in uniform registers, from which wgmma takes its operands' addresses.
__device__ inline int4 uniform(int4 value) {
  return {__shfl_sync(~0u, value.x, 0), __shfl_sync(~0u, value.y, 0), __shfl_sync(~0u, value.z, 0),
          __shfl_sync(~0u, value.w, 0)};
}

// One arrival a warp: each waits for its own part of a product.
__device__ inline void release(std::uint64_t& empty, const Consumer& me) {
  if (me.lane == 0) arrive(empty);
}

// scores [64, keys] = queries [64, head] · keysᵀ [head, keys], in steps of 16 columns of the head.
template <class T>
__device__ __forceinline__ void start_scores(float (&scores)[T::keys / 2], std::uint32_t queries,
                                             std::uint32_t keys) {
  start_products<T::planes, T::head / 16>([&](int left, int right, int step, bool add) {
    const int block = step * 16 / block_columns, bytes = step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores,
        advance(by_rows(queries), (left * T::blocks + block) * T::rows * block_row_bytes + bytes),
        advance(by_rows(keys), (right * T::blocks + block) * T::keys * block_row_bytes + bytes),
        add);
  });
}

// A warp's 16 queries as the left operand of steps of 16 columns.
template <class T>
__device__ __forceinline__ void read_queries(std::uint32_t (&queries)[T::head / 16][4],
                                             std::uint32_t tile, const Consumer& me) {
  const int row = me.warp * 16 + me.lane % 16;
#pragma unroll
  for (int step = 0; step < T::head / 16; ++step) {
    const int piece = step * 2 + me.lane / 16;
    load_matrices(queries[step],
                  tile + piece / 8 * T::rows * block_row_bytes + swizzled(row, piece % 8));
  }
}

template <class T>
__device__ __forceinline__ void start_scores(float (&scores)[T::keys / 2],
                                             const std::uint32_t (&queries)[T::head / 16][4],
                                             std::uint32_t keys) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::head / 16; ++step) {
    const int block = step * 16 / block_columns, bytes = step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores, queries[step], advance(by_rows(keys), block * T::keys * block_row_bytes + bytes),
        step > 0);
  }
  end_products();
}

// output [64, head] += weights [64, keys] · values [keys, head], in steps of 16 keys; of planes the
// product alone.
template <class T>
__device__ __forceinline__ void start_values(
    float (&output)[T::head / 2], const std::uint32_t (&weights)[T::planes][T::keys / 16][4],
    std::uint32_t values) {
  using Element = typename T::Element;
  start_products<T::planes, T::keys / 16>([&](int left, int right, int step, bool adds) {
    const auto operand = advance(by_columns(values, T::keys),
                                 (right * T::blocks * T::keys + step * 16) * block_row_bytes);
    const auto& weight = weights[left][step];
    const bool add = T::planes == 1 || adds;
    if constexpr (T::flow.split_values && T::head > block_columns) {
      constexpr int first = block_columns / 2, rest = T::head / 2 - first;
      add_values<Element>(reinterpret_cast<float(&)[first]>(output[0]), weight, operand, add);
      add_values<Element>(reinterpret_cast<float(&)[rest]>(output[first]), weight,
                          advance(operand, T::keys * block_row_bytes), add);
    } else {
      add_values<Element>(output, weight, operand, add);
    }
  });
}

// Writes a warp's 16 rows: registers → their place in `tile` [rows, head] → the tensor, without
// waiting for other warps. Rows beyond the last query and columns beyond the head are left out.
template <class T>
__device__ __forceinline__ void write_output(const float (&output)[T::head / 2],
                                             const Arguments& arguments, std::byte* tile,
                                             Place place, const Consumer& me) {
  std::byte* const corner = tile + me.warp * 16 * block_row_bytes;
  if (me.lane == 0) wait_for_reads();  // of the tile before
  __syncwarp();
  // Piece i of a row r lies where piece 0 does, with i in place of r's bits xor 0.
  std::uint32_t start = shared_address(corner) + swizzled(me.lane / 4, 0) + me.column * 2;
  asm volatile("" : "+r"(start));  // computed here, not kept in registers all along
#pragma unroll
  for (int i = 0; i < T::head / 8; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      store_shared(
          (start ^ i % 8 * 16) + (i / 8 * T::rows + half * 8) * block_row_bytes,
          pack<typename T::Element>(output[4 * i + 2 * half], output[4 * i + 2 * half + 1]));
    }
  }
  show_shared_writes();
  __syncwarp();
  if (me.lane == 0 && place.row < arguments.shape.queries) {
#pragma unroll
    for (int block = 0; block < T::blocks; ++block) {
      place.column = block * block_columns;
      store_box(arguments.out, place, corner + block * T::rows * block_row_bytes);
    }
    end_stores();
  }
}

// Divides by the weights' sum and writes log-sum-exp. A row that saw no key is 0, and −∞.
template <class T>
__device__ __forceinline__ void finish_rows(float (&output)[T::head / 2], const Softmax& softmax,
                                            float* lse, int first_row, const Shape& shape,
                                            const Consumer& me) {
  constexpr float ln_2 = 0.693147180559945f;
  float inverse[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = sum_of_row(softmax.sum[half]);
    inverse[half] = sum == 0 ? 0 : reciprocal(sum);
    const int row = first_row + me.row + 8 * half;
    if (me.lane % 4 == 0 && row < shape.queries) {
      const float most = softmax.most[half] * shape.scale;
      lse[row] = sum == 0 ? -INFINITY : (most + log2_fast(sum)) * ln_2;
    }
  }
  scale_rows(output, {inverse[0], inverse[1]});
}

// Writes what an item has come to, or keeps it until the other parts of its tile are there.
template <class T>
__device__ __forceinline__ void finish_item(float (&output)[T::head / 2], Softmax& softmax,
                                            const Arguments& arguments, Shared<T>& shared,
                                            int4 work, int query_stage, const Consumer& me) {
  const Shape& shape = arguments.shape;
  const int first_row = work.x * T::rows;
  const int blocks = seen_blocks(shape, first_row, T::rows, T::keys).count();
  bool whole = true;
  if (blocks > arguments.parts.blocks) {
    const int tile = (work.z * shape.heads + work.y) * arguments.row_tiles + work.x;
    const int parts = (blocks + arguments.parts.blocks - 1) / arguments.parts.blocks;
    whole = add_up<T>(output, softmax, shape.scale, arguments.parts, tile, work.w, parts, me);
  }
  // The queries' buffer is free for output once the whole warpgroup has read them.
  if constexpr (T::output_over_queries) wait_named(1 + T::groups + me.group, warpgroup);
  if (whole) {
    float* const lse =
        arguments.lse + (static_cast<std::int64_t>(work.z) * shape.heads + work.y) * shape.queries;
    finish_rows<T>(output, softmax, lse, first_row, shape, me);
    if constexpr (T::writes_floats) {
      write_floats(output, 1, arguments.floats, {me.column, first_row + me.row, work.y, work.z},
                   shape.queries, shape.head);
    } else {
      write_output<T>(output, arguments,
                      T::output_over_queries ? shared.queries[query_stage] : shared.output,
                      {0, first_row + me.warp * 16, work.y, work.z}, me);
    }
  }
  if constexpr (T::output_over_queries) {
    if (me.lane == 0) wait_for_reads();
    release(shared.queries_empty[query_stage], me);
  }
}

template <class T>
__device__ void consume(const Arguments& arguments, Shared<T>& shared, int thread) {
  using Element = typename T::Element;
  const Shape& shape = arguments.shape;
  const Consumer me = consumer_of(thread);
  unsigned tiles = 0;   // items taken by this block of threads before
  unsigned blocks = 0;  // and blocks of keys
  float output[T::head / 2];
  // Of planes a block's product, added to the output outside of the tensor cores, which cut sums
  // off where they should round.
  float part[T::planes == 1 ? 1 : T::head / 2];
  float scores[T::keys / 2];
  std::uint32_t weights[T::planes][T::keys / 16][4];
  std::uint32_t my_queries[T::flow.queries_in_registers ? T::head / 16 : 1][4];

  Turns<T>::begin(me.group);
  while (true) {
    const Turn<2> announced(tiles);
    wait(shared.work_full[announced.stage], announced.parity);
    const int4 work = uniform(shared.work[announced.stage]);
    __syncwarp();
    release(shared.work_empty[announced.stage], me);
    if (work.w < 0) break;

    const Turn<T::query_stages> mine(__shfl_sync(~0u, tiles++, 0));
    const int first_row = work.x * T::rows;
    const BlockRange all = seen_blocks(shape, first_row, T::rows, T::keys);
    const BlockRange range = all.part(work.w, arguments.parts.blocks);
    Softmax softmax(shape.scale);
#pragma unroll
    for (float& element : output) element = 0;

    const auto weigh = [&](int block) {
      if (range.needs_mask(block, T::keys)) {
        const int row = first_row + me.row, column = block * T::keys + me.column;
        hide(scores, from_column(seen_keys(shape, row), column),
             from_column(seen_keys(shape, row + 8), column));
      }
      return softmax.weigh(scores, shape.scale);
    };
    const auto shrink = [&](float2 factors) {
      if (!T::flow.lazy || __any_sync(~0u, factors.x != 1 || factors.y != 1)) {
        scale_rows(output, factors);
      }
    };
    const unsigned before = __shfl_sync(~0u, blocks, 0);
    blocks += range.count();
    const auto turn_of = [&](int block) {
      return Turn<T::stages>(before + static_cast<unsigned>(range.end - 1 - block));
    };
    const auto begin_scores = [&](int block) {
      const auto turn = turn_of(block);
      wait(shared.keys_full[turn.stage], turn.parity);
      const std::uint32_t right = shared_address(shared.keys[turn.stage]);
      if constexpr (T::flow.queries_in_registers) {
        start_scores<T>(scores, my_queries, right);
      } else {
        start_scores<T>(
            scores,
            shared_address(shared.queries[mine.stage]) + me.group * group_rows * block_row_bytes,
            right);
      }
    };
    const auto end_scores = [&](int block) {
      pin(scores);
      release(shared.keys_empty[turn_of(block).stage], me);
    };
    const auto begin_values = [&](int block) {
      const auto turn = turn_of(block);
      wait(shared.values_full[turn.stage], turn.parity);
      const std::uint32_t right = shared_address(shared.values[turn.stage]);
      if constexpr (T::planes == 1) {
        start_values<T>(output, weights, right);
      } else {
        start_values<T>(part, weights, right);
      }
    };
    const auto end_values = [&](int block) {
      if constexpr (T::planes == 1) {
        pin(output);
      } else {
        pin(part);
#pragma unroll
        for (int i = 0; i < T::head / 2; ++i) output[i] += part[i];
      }
      release(shared.values_empty[turn_of(block).stage], me);
    };

    wait(shared.queries_full[mine.stage], mine.parity);
    if constexpr (T::flow.queries_in_registers) {
      read_queries<T>(my_queries, shared_address(shared.queries[mine.stage]), me);
    }
    if constexpr (T::flow.overlap) {
      if (!range.empty()) {
        Turns<T>::take(me.group);
        begin_scores(range.end - 1);
        Turns<T>::pass(me.group);
        wait_for_products<0>();
        end_scores(range.end - 1);
        weigh(range.end - 1);
        as_operands<Element>(weights, scores);
        for (int block = range.end - 2; block >= range.first; --block) {
          Turns<T>::take(me.group);
          begin_scores(block);
          begin_values(block + 1);
          Turns<T>::pass(me.group);
          wait_for_products<1>();
          end_scores(block);
          const float2 factors = weigh(block);
          keep_before(softmax.sum[0] + softmax.sum[1]);
          wait_for_products<0>();
          pin(scores);
          end_values(block + 1);
          shrink(factors);
          as_operands<Element>(weights, scores);
        }
        if constexpr (!T::output_over_queries) release(shared.queries_empty[mine.stage], me);
        begin_values(range.first);
        wait_for_products<0>();
        end_values(range.first);
      } else if constexpr (!T::output_over_queries) {
        release(shared.queries_empty[mine.stage], me);
      }
    } else {
      for (int block = range.end - 1; block >= range.first; --block) {
        Turns<T>::take(me.group);
        begin_scores(block);
        Turns<T>::pass(me.group);
        wait_for_products<0>();
        end_scores(block);
        shrink(weigh(block));
        as_operands<Element>(weights, scores);
        begin_values(block);
        wait_for_products<0>();
        end_values(block);
      }
      if constexpr (!T::output_over_queries) release(shared.queries_empty[mine.stage], me);
    }

    finish_item<T>(output, softmax, arguments, shared, work, mine.stage, me);
  }
  Turns<T>::end(me.group);
  if (me.lane == 0) wait_for_stores();
}

}  // namespace assay::flash
