#pragma once

#include "problem.h"

// Which keys a query sees, and which tiles need a look.
namespace assay::flash_portable {

// first ≤ position < end; nothing where end ≤ first.
struct Range {
  int first, end;

  __host__ __device__ bool empty() const { return end <= first; }
  // What of it lies in the `count` positions from `from` on, counted from there.
  __host__ __device__ Range part(int from, int count) const {
    return {first > from ? first - from : 0, end - from < count ? end - from : count};
  }
  // The tiles of `size` positions that hold some of it.
  __host__ __device__ Range tiles(int size) const {
    return empty() ? Range{0, 0} : Range{first / size, (end + size - 1) / size};
  }
};

// Query i stands at the key p = i + keys − queries and sees the keys j of a band of diagonals:
// lowest ≤ p − j ≤ highest (assay/attention.h).
struct Band {
  // Beyond any length; added to a position (below 2^29) it stays within 32 bits.
  static constexpr int far = 1 << 30;
  int queries, keys, lowest, highest;

  __host__ __device__ explicit Band(const Shape& shape)
      : queries(shape.queries),
        keys(shape.keys),
        lowest(shape.causal       ? 0
               : shape.window > 0 ? 1 - shape.window
                                  : -far),
        highest(shape.window > 0 ? shape.window - 1 : far) {}

  __host__ __device__ int place(int query) const { return query + keys - queries; }

  __host__ __device__ bool sees(int query, int key) const {
    const int distance = place(query) - key;
    return distance >= lowest && distance <= highest && key < keys;
  }

  // Keys of which one of these queries may see something.
  __host__ __device__ Range keys_of(int first_query, int count) const {
    return within(place(first_query) - highest, place(first_query + count - 1) - lowest + 1, keys);
  }
  // Queries that may see one of these keys.
  __host__ __device__ Range queries_of(int first_key, int count) const {
    const int back = queries - keys;
    return within(first_key + back + lowest, first_key + count - 1 + back + highest + 1, queries);
  }

  // Whether all queries of a rectangle see all keys of it.
  __host__ __device__ bool all(int first_query, int query_count, int first_key,
                               int key_count) const {
    return place(first_query) - (first_key + key_count - 1) >= lowest &&
           place(first_query + query_count - 1) - first_key <= highest &&
           first_key + key_count <= keys;
  }

 private:
  __host__ __device__ static Range within(int first, int end, int length) {
    return {first > 0 ? first : 0, end < length ? end : length};
  }
};

}  // namespace assay::flash_portable
