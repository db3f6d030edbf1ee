#pragma once

#include <cuda.h>

#include <cstdint>

#include "attention/flash/problem.h"

namespace assay::flash {

// A tile's queries may be shared among blocks of threads, in parts of so many blocks of queries:
// what one has of dK and dV is kept in `partial`, and the kernel behind adds it up.
struct KeyParts {
  static constexpr int most = 16;
  int blocks = 1 << 30;       // of queries in a part; the last has the rest
  int count = 1;              // of the longest tile
  int tiles_with[most] = {};  // tiles that have a part of this number: the first ones
  float* partial = nullptr;   // [tiles, count, 16 keys each, head / 4, 32 lanes, 4]
};

// What the backward kernel gets: the tensors as the copy engine sees them, and what the kernels
// before and after it share with it.
struct BackwardArguments {
  CUtensorMap q, k, v, dout, dk, dv;
  Operand dk_floats, dv_floats;  // fp32's, in place of `dk` and `dv`
  // [batch, heads, rows]: log-sum-exp in units of log2, of fp32 in natural ones, and −D, D =
  // rowsum(dO ∘ O), with as many rows as whole blocks of queries have. A row without keys or beyond
  // the last has +∞: its weights are 0.
  const float* lse;
  const float* minus_dot;
  // Sums of dS K, in pieces as warps hold them (query_sums.cuh).
  float* query_sums;
  unsigned* turns;  // [batch, heads, blocks of queries, warps], 0 at the start; ordered sums only
  Shape shape;
  int key_tiles, query_blocks;  // of a head
  int items;                    // tiles and parts of tiles
  int heads_at_once;            // heads of k whose tiles are mixed
  // Items taken beyond the first of each block of threads, 0 at the start. Null: each takes one.
  unsigned* taken;
  KeyParts parts;
};

// Before and after it: rows of queries, and tiles of keys in parts.
struct RowArguments {
  Operand out, dout, dq, dk, dv;
  const float* forward_lse;  // [batch, heads, queries]
  float* lse;
  float* minus_dot;
  float* query_sums;
  unsigned* counters;  // `counted` of them, set to 0
  std::int64_t counted;
  Shape shape;
  int rows;         // of lse, minus_dot and query_sums
  int summed_head;  // columns of query_sums, and of dK and dV in parts
  KeyParts parts;   // of tiles of keys, `key_tiles` of a head, each of `key_warps` · 16 keys
  int key_tiles, key_warps;
  unsigned query_blocks = 0;  // blocks of threads that finish dQ; the others finish dK and dV
};

}  // namespace assay::flash
