#pragma once

#include "instructions.cuh"
#include "mask.cuh"
#include "tile.cuh"

// From global to shared memory, and the loop over the tiles of columns.
namespace assay::flash_portable {

// Some rows of one head of a tensor.
template <class Element>
struct Rows {
  const Element* first;  // [count, head]
  std::int64_t stride;   // elements
  int count;

  __device__ Rows(const Operand& tensor, int batch, int head, int first_row, int length)
      : first(static_cast<const Element*>(tensor.data) + batch * tensor.batch_stride +
              head * tensor.head_stride + first_row * tensor.row_stride),
        stride(tensor.row_stride),
        count(length - first_row) {}
};

// Of row_bytes(head) of shared memory, the 16 bytes that this thread has in round `round`.
template <class Tile, int rows>
struct Piece {
  static constexpr int elements = 16 / static_cast<int>(sizeof(typename Tile::Element));
  static constexpr int a_row = Tile::head / elements;
  static constexpr int rounds = (rows * a_row + Tile::threads - 1) / Tile::threads;
  int row, column;

  __device__ Piece(int round, int thread) {
    const int number = round * Tile::threads + thread;
    row = number / a_row;
    column = number % a_row * elements;
  }
  // Whether the round has a piece for this thread; only the last may have none.
  __device__ bool exists() const { return rows * a_row % Tile::threads == 0 || row < rows; }
  __device__ bool lies_in(const Rows<typename Tile::Element>& from, int head) const {
    return row < from.count && column < head;
  }
  __device__ std::uint32_t offset() const { return row * Tile::row_bytes + column * 16 / elements; }
};

// [rows, head] as it is, zeros for what is not there.
template <class Tile, int rows>
__device__ __forceinline__ void copy_rows(std::uint32_t to,
                                          const Rows<typename Tile::Element>& from, int head) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 4
  for (int round = 0; round < Piece<Tile, rows>::rounds; ++round) {
    const Piece<Tile, rows> piece(round, thread);
    if (!piece.exists()) break;
    const bool there = piece.lies_in(from, head);
    copy_16(to + piece.offset(), from.first + (there ? piece.row * from.stride + piece.column : 0),
            there);
  }
}

// x to 22 bits or more as the sum of two numbers of 11: `large` the nearest, `small` the rest,
// rounded by half a unit and the tensor cores, which do not look at a word's last 13 bits.
struct Split {
  float large, small;

  __device__ __forceinline__ explicit Split(float x)
      : large(nearest_tf32(x)), small(float_of(bits_of(x - large) + 0x1000u)) {}
};

// fp32 [rows, head] as two planes [rows, head] of TF32.
template <class Tile, int rows>
__device__ __forceinline__ void split_rows(std::uint32_t to, const Rows<float>& from, int head) {
  using TilePiece = Piece<Tile, rows>;
  // Loads in flight, of 4 registers each.
  constexpr int at_once = largest_divisor(TilePiece::rounds, least(TilePiece::rounds, 8));
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int done = 0; done < TilePiece::rounds; done += at_once) {
    float4 loaded[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const TilePiece piece(done + i, thread);
      loaded[i] = load_global(from.first + piece.row * from.stride + piece.column,
                              piece.exists() && piece.lies_in(from, head));
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const TilePiece piece(done + i, thread);
      if (!piece.exists()) break;
      const Split x(loaded[i].x), y(loaded[i].y), z(loaded[i].z), w(loaded[i].w);
      store_shared_4(to + piece.offset(), float4{x.large, y.large, z.large, w.large});
      store_shared_4(to + Tile::plane_bytes + piece.offset(),
                     float4{x.small, y.small, z.small, w.small});
    }
  }
}

// A tile of columns into a stage.
template <class Tile>
__device__ __forceinline__ void fill_columns(std::uint32_t to,
                                             const Rows<typename Tile::Element>& from, int head) {
  if constexpr (Tile::split) {
    split_rows<Tile, Tile::columns>(to, from, head);
  } else {
    copy_rows<Tile, Tile::columns>(to, from, head);
  }
}

// One float a column, zeros beyond the `count` that are there.
template <class Tile>
__device__ __forceinline__ void fill_facts(std::uint32_t to, const float* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < Tile::columns; i += Tile::threads) {
    copy_4(to + i * sizeof(float), from + (i < count ? i : 0), i < count);
  }
}

// Calls fill(tile, stage) and use(tile, stage), where stage is an address, for each tile. With two
// stages a tile is copied while the one before is used; with one, another block of the same
// multiprocessor computes while this one copies.
template <class Tile, class Fill, class Use>
__device__ __forceinline__ void go_through(std::uint32_t stages, Range tiles, Fill fill, Use use) {
  if constexpr (Tile::stages == 1) {
    for (int tile = tiles.first; tile < tiles.end; ++tile) {
      block_barrier();  // all have used the tile before
      fill(tile, stages);
      wait_for_copies();
      block_barrier();
      use(tile, stages);
    }
  } else {
    const auto stage = [&](int tile) { return stages + (tile & 1) * Tile::stage_bytes; };
    if (!tiles.empty()) fill(tiles.first, stage(tiles.first));
    for (int tile = tiles.first; tile < tiles.end; ++tile) {
      wait_for_copies();
      block_barrier();  // this tile is there for all, and all have used the one before
      if (tile + 1 < tiles.end) fill(tile + 1, stage(tile + 1));
      use(tile, stage(tile));
    }
  }
}

}  // namespace assay::flash_portable
