#pragma once

#include <cstddef>
#include <cstdint>

#include "operand.cuh"

// How a kernel cuts its work: what a block of threads has in shared memory and in registers.
namespace assay::flash {

inline constexpr int warp = 32;
inline constexpr int warpgroup = 128;  // four warps, which issue wgmma together
inline constexpr int group_rows = 64;  // queries of a warpgroup: the m of wgmma

// How the consumers order their work.
struct Flow {
  // A block's scores are started with the weighted values of the block before, beneath which its
  // maxima are found, if they are.
  bool overlap = true;
  // Warpgroups issue products in turns, so that the softmax of one lies over the products of
  // another.
  bool turns = true;
  // The products with V in two instructions: 64 columns and the rest.
  bool split_values = false;
  // Queries are read into registers once a tile: the tensor cores then read only keys and values
  // from shared memory.
  bool queries_in_registers = false;
  // A block's weights are computed beside the largest scores of the blocks before, its own looked
  // for only where some weight comes out too large.
  bool guesses = false;
  // With guesses: the products with V in two groups, beneath the second of which the weights whose
  // products have ended are made anew.
  bool halves_values = false;
  // With guesses: whether the next block's buffers are full is asked beneath exponentials.
  bool looks_ahead = false;
};

// Elements as the tensor cores take them: of 2 bytes, or fp32 in three planes of bf16.
template <class Element_, int head_, int groups_, int keys_, int stages_, int query_stages_,
          Flow flow_ = Flow{}, int planes_ = 1>
struct Tile {
  using Element = Element_;
  static constexpr int head = head_;                  // columns that are computed
  static constexpr int groups = groups_;              // consumer warpgroups
  static constexpr int rows = groups_ * group_rows;   // queries
  static constexpr int keys = keys_;                  // of a block
  static constexpr int stages = stages_;              // blocks of K and of V in flight
  static constexpr int query_stages = query_stages_;  // the next tile's queries come early
  static constexpr Flow flow = flow_;
  static constexpr int planes = planes_;  // of which an element is the sum

  static constexpr int blocks = blocks_of_head(head);
  // Planes lie behind each other in a row, each in whole blocks of columns.
  static constexpr int loaded_head = planes == 1 ? head : planes * blocks * block_columns;
  static constexpr int query_bytes = tile_bytes(rows, loaded_head);
  static constexpr int key_bytes = tile_bytes(keys, loaded_head);
  // Where shared memory has no room for it, output leaves through the buffer of its queries.
  static constexpr bool writes_floats = planes > 1;  // from registers
  static constexpr bool output_over_queries =
      !writes_floats && (query_stages + 1) * query_bytes + 2 * stages * key_bytes > 230'000;
  static constexpr int consumer_warps = groups * warpgroup / warp;
  static constexpr int threads = (groups + 1) * warpgroup;
  // Whether a tile follows the mask by warpgroups (schedule.cuh). Two of them see the same blocks
  // of 128 keys where lengths are round, and only lose.
  static constexpr bool fits_mask = groups > 2;
  static constexpr bool may_share_in_cluster = groups == 1;  // serves heads that leave chips idle

  // Of the multiprocessor's 65,536 registers a warpgroup starts with its share, in eights (168 with
  // two consumers); the producer then leaves what the consumers need.
  // A single consumer has all it can name from the start.
  static constexpr bool moves_registers = groups > 1;
  static constexpr int producer_registers = groups == 2 ? 40 : 32;
  static constexpr int consumer_registers = groups == 2 ? 232 : 160;

  static_assert(head % 16 == 0 && head <= 256, "a step of a product has 16 columns");
  static_assert(keys % 16 == 0 && keys <= 256, "a step of a product has 16 keys");
  static_assert(groups >= 1 && groups <= 3);
  static_assert(!output_over_queries || query_stages == 1);
  static_assert(planes == 1 || !(flow.queries_in_registers || flow.split_values || flow.guesses));
  static_assert(flow.guesses ? flow.overlap : !(flow.halves_values || flow.looks_ahead));
};

template <class T>
struct Shared {
  alignas(swizzle_bytes) std::byte queries[T::query_stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte keys[T::stages][T::key_bytes];
  alignas(swizzle_bytes) std::byte values[T::stages][T::key_bytes];
  // [rows, head] on their way out.
  alignas(swizzle_bytes)
      std::byte output[T::output_over_queries || T::writes_floats ? 1 : T::query_bytes];
  // A pair for each buffer: filled by the producer, emptied by every consumer warp.
  std::uint64_t queries_full[T::query_stages], queries_empty[T::query_stages];
  std::uint64_t keys_full[T::stages], keys_empty[T::stages];
  std::uint64_t values_full[T::stages], values_empty[T::stages];
  std::uint64_t work_full[2], work_empty[2];
  int4 work[2];
};

template <class T>
inline constexpr int shared_bytes = sizeof(Shared<T>);

// Use number `count` of a ring of buffers: which buffer, and the parity of its barriers' phase.
template <int stages>
struct Turn {
  int stage;
  int parity;

  __device__ explicit Turn(unsigned count)
      : stage(static_cast<int>(count % stages)), parity(static_cast<int>(count / stages % 2)) {}

  __device__ void advance() {
    const bool last = stage == stages - 1;
    stage = last ? 0 : stage + 1;
    parity ^= last;
  }
};

}  // namespace assay::flash
