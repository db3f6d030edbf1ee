#pragma once

#include "direct.h"
#include "kept_rows.cuh"
#include "weights.cuh"

namespace assay::norm_parts {

// dx from x and dout; with dsum, the gradient of x by another way, their sum. Each block also adds
// up what its rows give to the gradients of weight and, if centred, bias.
template <class Scalar>
struct Backward {
  const Scalar* x;
  const Scalar* dout;
  const Scalar* dsum;  // with a residual; or null
  Typed weight;
  Scalar* dx;
  float* parts;  // [blocks, centred ? 2 : 1, n_cols]
};

// Adds up what the groups of a block have and writes it to `part`. The whole block calls it.
template <class Group, int elements>
__device__ void write_part(const Group& me, const float (&values)[elements], float* memory,
                           float* part) {
  constexpr int wide = elements / Group::steps;
  const int first = max(me.first_column, 0), count = me.end - me.begin;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < elements; ++i) {
    const int column = me.first_column + me.column(i / wide) + i % wide - first;
    if (me.has(i / wide, i % wide)) memory[me.group * me.segment() + column] = values[i];
  }
  __syncthreads();
  const int threads = me.layout.threads * me.layout.groups;
  for (int column = me.group * me.layout.threads + me.thread; column < count; column += threads) {
    float sum = 0;
    for (int group = 0; group < me.layout.groups; ++group) {
      sum += memory[group * me.segment() + column];
    }
    part[first + column] = sum;
  }
}

// Of a row: z is x, or x - mean if centred, and g is dout · weight.
struct RowSums {
  float mean, mean_g;  // of x and of g, if centred
  float squares;       // Σ z²
  float product;       // Σ z g, of g - mean_g if centred
};

// each(take) calls take(x, g, whether the row has it) for every column of the thread.
// share: 1 / n_cols.
template <bool centred, class Group, class Each>
__device__ RowSums sums_of_row(Group& me, float share, const Each& each) {
  if constexpr (centred) {
    Moments<2> moments = {};
    each([&](float x, float g, bool) {
      moments.sums[0] += x;
      moments.sums[1] += g;
    });
    me.moments(moments, [&](const float(&means)[2], float(&products)[2]) {
      each([&](float x, float g, bool inside) {
        const float z = inside ? x - means[0] : 0.f;
        products[0] += z * z;
        products[1] += z * (g - means[1]);
      });
    });
    return {moments.sums[0] * share, moments.sums[1] * share, moments.products[0],
            moments.products[1]};
  } else {
    float sums[2] = {0, 0};
    each([&](float x, float g, bool) {
      sums[0] += x * x;
      sums[1] += x * g;
    });
    me.sum(sums);
    return {0, 0, sums[0], sums[1]};
  }
}

// Reads x and dout once and keeps their row in registers. Statistics are made anew: the row is at
// hand, and the forward keeps nothing.
template <bool centred, bool residual, int elements, class Scalar, class Group, class Rows,
          class Weights>
__device__ void backward_rows(const Backward<Scalar>& of, Group& me, Rows& rows,
                              const Weights& weights, unsigned char* memory) {
  constexpr int wide = width<Scalar>;
  constexpr int steps = elements / wide;
  const Layout& layout = me.layout;
  float dweight[elements] = {}, dbias[centred ? elements : 1] = {};
  const float share = 1.f / static_cast<float>(layout.n_cols);
  for (int round = 0; round < me.rows.count; ++round) {
    const std::int64_t first = me.first_element(round);
    typename Rows::Row kept;
    rows.take(kept, round);
    const auto values_of = [&](float(&values)[wide], int stream, int step) {
      forget_uses(kept.values[stream][step]);
      unpack(values, kept.values[stream][step]);
    };

    // Of every column, by steps: x and g = dout · weight.
    const auto each = [&](const auto& take) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        float x[wide], dout[wide], weight[wide];
        values_of(x, 0, step);
        values_of(dout, 1, step);
        weights.get(weight, step);
#pragma unroll
        for (int i = 0; i < wide; ++i) take(x[i], dout[i] * weight[i], me.has(step, i));
      }
    };
    const RowSums of_row = sums_of_row<centred>(me, share, each);
    rows.has_taken(round);
    const float scale = rows.has(round) ? rsqrtf(of_row.squares * share + layout.eps) : 0.f;
    const float along = of_row.product * share * scale * scale * scale;
    const float aside = of_row.mean_g * scale;

#pragma unroll
    for (int step = 0; step < steps; ++step) {
      float x[wide], dx[wide], weight[wide];
      values_of(x, 0, step);
      values_of(dx, 1, step);
      weights.get(weight, step);
#pragma unroll
      for (int i = 0; i < wide; ++i) {
        const int at = step * wide + i;
        const float z = centred ? x[i] - of_row.mean : x[i];
        if constexpr (centred) dbias[at] += dx[i];
        const float scaled = dx[i] * scale;
        dweight[at] += scaled * z;
        dx[i] = scaled * weight[i] - (centred ? along * z + aside : along * z);
      }
      if constexpr (residual) {
        float dsum[wide];
        values_of(dsum, 2, step);
#pragma unroll
        for (int i = 0; i < wide; ++i) dx[i] += dsum[i];
      }
      rows.give(of.dx + first, step, pack<Scalar>(dx), round);
    }
    rows.has_given(of.dx + first, round);
  }
  rows.finish();

  auto* const sums = reinterpret_cast<float*>(memory);
  float* const part =
      of.parts + static_cast<std::int64_t>(me.block) * (centred ? 2 : 1) * layout.n_cols;
  write_part(me, dweight, sums, part);
  if constexpr (centred) write_part(me, dbias, sums, part + layout.n_cols);
}

template <bool residual, class Scalar>
__device__ RowStreams streams_of(const Backward<Scalar>& of) {
  return {{{of.x, sizeof(Scalar)},
           {of.dout, sizeof(Scalar)},
           {residual ? of.dsum : nullptr, sizeof(Scalar)}}};
}

template <class Scalar, bool centred, bool residual, int elements, Access access>
__global__ __launch_bounds__(most_threads(elements,
                                          access)) void backward(const Backward<Scalar> of,
                                                                 const Layout layout) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Exchange exchange;
  __shared__ std::uint64_t barriers[largest_rings * largest_stages];
  // The kernel that adds up the parts may be brought to the multiprocessors; it waits for the end.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");

  using Row = KeptRow<Scalar, residual ? 3 : 2, elements>;
  using Group = RowGroup<elements, Row::wide, access>;
  Group me(layout, exchange, rows_of(layout));
  if constexpr (centred) me.count_columns();
  const RowStreams streams = streams_of<residual>(of);
  RingRows<Group, Row> rows(me, streams, barriers, memory);
  const KeptWeights<Group, elements, Row::wide> weights(of.weight, nullptr, me);
  backward_rows<centred, residual, elements>(of, me, rows, weights, memory);
}

// Without a ring, of rows that are aligned and that no cluster shares. of_row: a row's threads, or
// 0 if the layout tells them.
template <class Scalar, bool centred, bool residual, int elements, int of_row>
__global__ __launch_bounds__(most_threads(elements, Access::aligned)) void backward_ahead(
    const Backward<Scalar> of, const Layout given) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Exchange exchange;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");

  Layout layout = given;
  layout.cluster = 1;  // known here, it leaves registers that code for clusters would take
  if constexpr (of_row > 0) know_threads(layout, of_row);
  using Row = KeptRow<Scalar, residual ? 3 : 2, elements>;
  using Group = RowGroup<elements, Row::wide, Access::aligned, Meeting::block>;
  Group me(layout, exchange, rows_in_turn(layout));
  if constexpr (centred) me.count_columns();
  const KeptWeights<Group, elements, Row::wide> weights(of.weight, nullptr, me);
  const RowStreams streams = streams_of<residual>(of);
  RowsAhead<Group, Row> rows(me, streams);
  backward_rows<centred, residual, elements>(of, me, rows, weights, memory);
}

}  // namespace assay::norm_parts
