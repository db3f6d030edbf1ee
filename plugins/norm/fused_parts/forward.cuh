#pragma once

#include "row_ring.cuh"

namespace assay::norm_parts {

// out = norm(x); with an addend, sum = x + addend and out = norm(sum).
template <class Scalar, class Addend>
struct Forward {
  const Scalar* x;
  const Addend* addend;  // or null
  Typed weight;
  Typed bias;  // without data: none
  Scalar* out;
  Scalar* sum;  // with an addend
};

// Reads x once and keeps the row in registers: the statistics and the output are made from there.
template <class Scalar, class Addend, bool centred, int elements, Access access>
__global__ __launch_bounds__(largest_segment /
                             elements) void forward(const Forward<Scalar, Addend> of,
                                                    const Layout layout) {
  constexpr int wide = width<Scalar, access>;
  constexpr int steps = elements / wide;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Exchange exchange;
  __shared__ std::uint64_t barriers[largest_rings * largest_stages];

  RowGroup<elements> me(layout, exchange);
  const Stream streams[] = {{of.x, sizeof(Scalar)}, {of.addend, sizeof(Addend)}};
  RowRing<elements, 2, access> rows(me, streams, barriers, memory);

  float weight[elements], bias[elements] = {};
  load<wide>(weight, of.weight, me);
  if (centred && of.bias.data != nullptr) load<wide>(bias, of.bias, me);

  const float share = 1.f / static_cast<float>(layout.n_cols);
  for (int round = 0; round < me.rounds; ++round) {
    const std::int64_t first = me.first_element(round);
    rows.wait(round);
    float x[elements];
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = me.template column<wide>(step);
      float* const values = x + step * wide;
      if (column < me.columns) {
        read<wide>(values, rows.template at<Scalar>(0, column));
        if (of.addend != nullptr) {
          float added[wide];
          read<wide>(added, rows.template at<Addend>(1, column));
#pragma unroll
          for (int i = 0; i < wide; ++i) {
            // The norm is that of the sum as it is stored.
            values[i] = static_cast<float>(static_cast<Scalar>(values[i] + added[i]));
          }
          write<wide>(of.sum + first + column, values);
        }
      } else {
#pragma unroll
        for (int i = 0; i < wide; ++i) values[i] = 0;
      }
    }

    if constexpr (centred) {
      float mean[1] = {0};
#pragma unroll
      for (int i = 0; i < elements; ++i) mean[0] += x[i];
      me.sum(mean);
#pragma unroll
      for (int i = 0; i < elements; ++i) {
        const bool inside = me.template column<wide>(i / wide) < me.columns;
        x[i] = inside ? x[i] - mean[0] * share : 0.f;
      }
    }
    float squares[1] = {0};
#pragma unroll
    for (int i = 0; i < elements; ++i) squares[0] += x[i] * x[i];
    me.sum(squares);
    rows.next(round);
    const float scale = rsqrtf(squares[0] * share + layout.eps);

#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = me.template column<wide>(step);
      float out[wide];
#pragma unroll
      for (int i = 0; i < wide; ++i) {
        const int at = step * wide + i;
        out[i] = x[at] * scale * weight[at];
        if constexpr (centred) out[i] += bias[at];
      }
      if (column < me.columns) write<wide>(of.out + first + column, out);
    }
  }
}

}  // namespace assay::norm_parts
