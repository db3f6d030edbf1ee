#pragma once

#include "direct.h"
#include "loaded_rows.cuh"
#include "row_ring.cuh"
#include "weights.cuh"

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

// Reads each row of a group once and keeps it in registers: the statistics and the output are made
// from there.
template <bool centred, class Scalar, class Addend, class Group, class Rows, class Weights>
__device__ void forward_rows(const Forward<Scalar, Addend>& of, Group& me, Rows& rows,
                             const Weights& weights, const Weights& biases) {
  constexpr int wide = width<Scalar>;
  constexpr int steps = Group::steps;
  const Layout& layout = me.layout;
  const float share = 1.f / static_cast<float>(layout.n_cols);
  for (int round = 0; round < me.rows.count; ++round) {
    const std::int64_t first = me.first_element(round);
    rows.wait();
    Packed<Scalar, wide> x[steps];
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      x[step] = rows.template read<Scalar, wide>(0, step, round);
    }
    if (of.addend != nullptr) {
      Packed<Addend, wide> added[steps];
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        added[step] = rows.template read<Addend, wide>(1, step, round);
      }
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        float sum[wide], more[wide];
        unpack(sum, x[step]);
        unpack(more, added[step]);
#pragma unroll
        for (int i = 0; i < wide; ++i) sum[i] += more[i];
        // The norm is that of the sum as it is stored.
        x[step] = pack<Scalar>(sum);
        write(of.sum + first, me, step, x[step]);
      }
    }

    float mean = 0, squares = 0;
    if constexpr (centred) {
      Moments<1> moments = {};
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        float values[wide];
        unpack(values, x[step]);
#pragma unroll
        for (int i = 0; i < wide; ++i) moments.sums[0] += values[i];
      }
      me.moments(moments, [&](const float(&means)[1], float(&products)[1]) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
          forget_uses(x[step]);
          float values[wide];
          unpack(values, x[step]);
#pragma unroll
          for (int i = 0; i < wide; ++i) {
            const float away = me.has(step, i) ? values[i] - means[0] : 0.f;
            products[0] += away * away;
          }
        }
      });
      mean = moments.sums[0] * share;
      squares = moments.products[0];
    } else {
      float sums[1] = {0};
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        float values[wide];
        unpack(values, x[step]);
#pragma unroll
        for (int i = 0; i < wide; ++i) sums[0] += values[i] * values[i];
      }
      me.sum(sums);
      squares = sums[0];
    }
    rows.next(round);
    const float scale = rsqrtf(squares * share + layout.eps);

#pragma unroll
    for (int step = 0; step < steps; ++step) {
      forget_uses(x[step]);
      float out[wide], weight[wide], bias[wide] = {};
      unpack(out, x[step]);
      weights.get(weight, step);
      if constexpr (centred) biases.get(bias, step);
#pragma unroll
      for (int i = 0; i < wide; ++i) {
        out[i] =
            centred ? (out[i] - mean) * scale * weight[i] + bias[i] : out[i] * scale * weight[i];
      }
      write(of.out + first, me, step, pack<Scalar>(out));
    }
  }
}

template <class Scalar, class Addend, bool centred, Access access>
__global__ __launch_bounds__(most_threads(elements, access),
                             access == Access::aligned
                                 ? 2
                                 : 1) void forward(const Forward<Scalar, Addend> of,
                                                   const Layout layout) {
  constexpr int wide = width<Scalar>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Exchange exchange;
  __shared__ std::uint64_t barriers[largest_rings * largest_stages];

  using Group = RowGroup<elements, wide, access>;
  Group me(layout, exchange, rows_of(layout));
  if constexpr (centred) me.count_columns();
  const Stream streams[] = {{of.x, sizeof(Scalar)}, {of.addend, sizeof(Addend)}};
  RowRing<Group, 2> rows(me, streams, barriers, memory);

  // With a bias registers would not do.
  constexpr bool shares = shares_weights(centred, access);
  using Weights = std::conditional_t<shares, SharedWeights<Group, elements, wide>,
                                     KeptWeights<Group, elements, wide>>;
  unsigned char* const behind_ring = memory + rows.block_bytes();
  const Weights weights(of.weight, behind_ring, me);
  const Weights biases(centred ? of.bias : Typed(), behind_ring + me.segment() * 4, me);
  if constexpr (shares) __syncthreads();
  forward_rows<centred>(of, me, rows, weights, biases);
}

// Of one row a group, without a ring. `Weight` is the dtype of weight and bias; of_row: a row's
// threads, or 0 if the layout tells them.
template <class Scalar, class Addend, class Weight, bool centred, int elements, int of_row>
__global__ __launch_bounds__(largest_direct_block) void forward_directly(
    const Forward<Scalar, Addend> of, const Layout given) {
  constexpr int wide = width<Scalar>;
  __shared__ Exchange exchange;
  Layout layout = given;
  if constexpr (of_row > 0) know_threads(layout, of_row);
  using Group = RowGroup<elements, wide, Access::aligned, Meeting::block>;
  Group me(layout, exchange, one_row(layout));
  if (me.rows.first >= layout.rows) me.have_no_columns();
  if constexpr (centred) me.count_columns();
  const Stream streams[] = {{of.x, sizeof(Scalar)}, {of.addend, sizeof(Addend)}};
  LoadedRows<Group, 2> rows(me, streams);
  const ReadWeights<Weight, Group, wide> weights(of.weight, me);
  const ReadWeights<Weight, Group, wide> biases(centred ? of.bias : Typed(), me);
  forward_rows<centred>(of, me, rows, weights, biases);
}

}  // namespace assay::norm_parts
