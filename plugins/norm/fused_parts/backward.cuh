#pragma once

#include "row_ring.cuh"

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
template <int wide, int elements>
__device__ void write_part(const RowGroup<elements>& me, const float (&values)[elements],
                           float* memory, float* part) {
  __syncthreads();
#pragma unroll
  for (int i = 0; i < elements; ++i) {
    const int column = me.template column<wide>(i / wide) + i % wide;
    memory[me.group * me.segment() + column] = values[i];
  }
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < me.columns;
       column += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int group = 0; group < me.layout.groups; ++group) {
      sum += memory[group * me.segment() + column];
    }
    part[me.first_column + column] = sum;
  }
}

// Reads x and dout once and keeps their row in registers. Statistics are made anew: the row is at
// hand, and the forward keeps nothing.
template <class Scalar, bool centred, bool residual, int elements, Access access>
__global__ __launch_bounds__(largest_segment / elements) void backward(const Backward<Scalar> of,
                                                                       const Layout layout) {
  constexpr int wide = width<Scalar, access>;
  constexpr int steps = elements / wide;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Exchange exchange;
  __shared__ std::uint64_t barriers[largest_rings * largest_stages];
  // The kernel that adds up the parts may be brought to the multiprocessors; it waits for the end.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");

  RowGroup<elements> me(layout, exchange);
  const Stream streams[] = {{of.x, sizeof(Scalar)},
                            {of.dout, sizeof(Scalar)},
                            {residual ? of.dsum : nullptr, sizeof(Scalar)}};
  RowRing<elements, 3, access> rows(me, streams, barriers, memory);

  float weight[elements], dweight[elements] = {}, dbias[elements] = {};
  load<wide>(weight, of.weight, me);

  const float share = 1.f / static_cast<float>(layout.n_cols);
  for (int round = 0; round < me.rounds; ++round) {
    const std::int64_t first = me.first_element(round);
    rows.wait(round);
    float x[elements];
    Values<Scalar, wide> kept_dout[steps], kept_dsum[steps];  // narrow ones take fewer registers
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = me.template column<wide>(step);
      kept_dout[step] = kept_dsum[step] = {};
#pragma unroll
      for (int i = 0; i < wide; ++i) x[step * wide + i] = 0;
      if (column >= me.columns) continue;
      read<wide>(x + step * wide, rows.template at<Scalar>(0, column));
      kept_dout[step] = values_at<wide>(rows.template at<Scalar>(1, column));
      if (residual && of.dsum != nullptr) {
        kept_dsum[step] = values_at<wide>(rows.template at<Scalar>(2, column));
      }
    }
    const auto dout = [&](int i) { return static_cast<float>(kept_dout[i / wide].at[i % wide]); };

    float mean_g = 0;  // of g = dout · weight
    if constexpr (centred) {
      float sums[2] = {0, 0};
#pragma unroll
      for (int i = 0; i < elements; ++i) {
        sums[0] += x[i];
        sums[1] += dout(i) * weight[i];
      }
      me.sum(sums);
      mean_g = sums[1] * share;
#pragma unroll
      for (int i = 0; i < elements; ++i) {
        const bool inside = me.template column<wide>(i / wide) < me.columns;
        x[i] = inside ? x[i] - sums[0] * share : 0.f;
      }
    }
    float sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < elements; ++i) {
      sums[0] += x[i] * x[i];
      sums[1] += (dout(i) * weight[i] - mean_g) * x[i];
    }
    me.sum(sums);
    rows.next(round);
    const float scale = rsqrtf(sums[0] * share + layout.eps);
    const float along = sums[1] * share * scale * scale;

#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = me.template column<wide>(step);
      float dx[wide];
#pragma unroll
      for (int i = 0; i < wide; ++i) {
        const int at = step * wide + i;
        dx[i] = (dout(at) * weight[at] - mean_g - x[at] * along) * scale;
        if (residual && of.dsum != nullptr) dx[i] += static_cast<float>(kept_dsum[step].at[i]);
        dweight[at] += dout(at) * (x[at] * scale);
        if constexpr (centred) dbias[at] += dout(at);
      }
      if (column < me.columns) write<wide>(of.dx + first + column, dx);
    }
  }

  auto* const sums = reinterpret_cast<float*>(memory);
  float* const part =
      of.parts + static_cast<std::int64_t>(me.block) * (centred ? 2 : 1) * layout.n_cols;
  write_part<wide>(me, dweight, sums, part);
  if constexpr (centred) write_part<wide>(me, dbias, sums, part + layout.n_cols);
}

}  // namespace assay::norm_parts
