#include "compile/fused_parts/kernels/rms_norm.h"

#include <c10/cuda/CUDAException.h>

#include <algorithm>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

constexpr int norm_warp = 32;
constexpr int multiprocessors = 132;           // of an H100; others are only filled worse
constexpr int threads_a_multiprocessor = 768;  // of a backward: more of them have more parts to sum

// A block takes a row: each thread `steps` times `count` columns, neighbours side by side.
struct RowPlan {
  int steps, threads;
};

template <int steps>
constexpr int most_norm_threads = steps == 1 ? 128 : 512;

RowPlan row_plan(int columns, int count) {
  const int accesses = (columns + count - 1) / count;
  const int steps = accesses <= 128 ? 1 : accesses <= 1024 ? 2 : 4;
  const int threads = (accesses + steps - 1) / steps;
  return {steps, (threads + norm_warp - 1) / norm_warp * norm_warp};
}

template <int count>
__device__ int column_of(int step) {
  return (step * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * count;
}

template <class Stream, class Product, int count, int steps>
__global__ __launch_bounds__(most_norm_threads<steps>) void fused_rms_norm_forward(
    const RmsNormForward of) {
  __shared__ float shared[norm_warp];
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(of.columns);
  const auto* xs = static_cast<const Stream*>(of.x) + first;
  const auto* addends = static_cast<const Product*>(of.addend) + first;
  auto* sums = static_cast<Stream*>(of.sum) + first;
  float x[steps][count];
  float squares = 0;
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const int column = column_of<count>(step);
    if (column >= of.columns) continue;
    load(x[step], xs + column);
    if (of.addend != nullptr) {
      float added[count];
      load(added, addends + column);
#pragma unroll
      for (int k = 0; k < count; ++k) {
        x[step][k] = to_float(from_float<Stream>(x[step][k] + added[k]));
      }
      store(sums + column, x[step]);
    }
#pragma unroll
    for (int k = 0; k < count; ++k) squares += x[step][k] * x[step][k];
  }
  squares = sum_over(squares, shared);
  const float scale = rsqrtf(squares / static_cast<float>(of.columns) + of.eps);
  if (threadIdx.x == 0) of.scale[blockIdx.x] = scale;
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const int column = column_of<count>(step);
    if (column >= of.columns) continue;
    float weight[count];
    load(weight, static_cast<const Stream*>(of.weight) + column);
#pragma unroll
    for (int k = 0; k < count; ++k) x[step][k] *= scale * weight[k];
    store(static_cast<Product*>(of.out) + first + column, x[step]);
  }
}

// Blocks take rows in turn and keep their share of dweight in registers.
template <class Stream, class Product, int count, int steps>
__global__ __launch_bounds__(most_norm_threads<steps>) void fused_rms_norm_backward(
    const RmsNormBackward of) {
  __shared__ float shared[2][norm_warp];
  float dweight[steps][count] = {};
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < of.rows; row += gridDim.x, turn ^= 1) {
    const std::int64_t first = row * of.columns;
    const float scale = of.scale[row];
    float x[steps][count], dout[steps][count], dx[steps][count] = {};
    float product = 0;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = column_of<count>(step);
      if (column >= of.columns) continue;
      load(x[step], static_cast<const Stream*>(of.x) + first + column);
      load(dout[step], static_cast<const Product*>(of.dout) + first + column);
      if (of.dsum != nullptr) load(dx[step], static_cast<const Stream*>(of.dsum) + first + column);
    }
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = column_of<count>(step);
      if (column >= of.columns) continue;
      float weight[count];
      load(weight, static_cast<const Stream*>(of.weight) + column);
#pragma unroll
      for (int k = 0; k < count; ++k) {
        dweight[step][k] += dout[step][k] * x[step][k] * scale;
        dout[step][k] *= weight[k];
        product += dout[step][k] * x[step][k];
      }
    }
    product = sum_over(product, shared[turn]);
    const float c = scale * scale * product / static_cast<float>(of.columns);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = column_of<count>(step);
      if (column >= of.columns) continue;
#pragma unroll
      for (int k = 0; k < count; ++k) {
        dx[step][k] += scale * (dout[step][k] - c * x[step][k]);
      }
      store(static_cast<Stream*>(of.dx) + first + column, dx[step]);
      if (of.daddend != nullptr) {
        store(static_cast<Product*>(of.daddend) + first + column, dx[step]);
      }
    }
  }
  float* parts = of.parts + blockIdx.x * static_cast<std::int64_t>(of.columns);
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const int column = column_of<count>(step);
    if (column < of.columns) store(parts + column, dweight[step]);
  }
}

// Over a part each of all blocks: 32 columns a block, 32 parts at a time.
template <class Stream>
__global__ __launch_bounds__(norm_warp* norm_warp) void fused_rms_norm_weight_gradient(
    const float* parts, int blocks, int columns, Stream* dweight) {
  __shared__ float sums[norm_warp][norm_warp + 1];
  const int column = static_cast<int>(blockIdx.x) * norm_warp + static_cast<int>(threadIdx.x);
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (int part = static_cast<int>(threadIdx.y); part < blocks; part += norm_warp) {
      sum += parts[part * static_cast<std::int64_t>(columns) + column];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = sums[threadIdx.x][threadIdx.y];
  for (int step = norm_warp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  const int own = static_cast<int>(blockIdx.x) * norm_warp + static_cast<int>(threadIdx.y);
  if (threadIdx.x == 0 && own < columns) dweight[own] = from_float<Stream>(sum);
}

// call(Stream(), Product()), of which the products' may be narrower.
template <class Call>
void with_dtypes(const NormDtypes& dtypes, const Call& call) {
  with_scalar(dtypes.products, [&](auto product) {
    if (dtypes.stream == dtypes.products) {
      call(product, product);
    } else {
      call(float(), product);
    }
  });
}

// call(count, steps) as constants.
template <class Call>
void with_plan(bool wide, const RowPlan& plan, const Call& call) {
  with_access(wide, [&](auto count) {
    if (plan.steps == 1) {
      call(count, Constant<1>());
    } else if (plan.steps == 2) {
      call(count, Constant<2>());
    } else {
      call(count, Constant<4>());
    }
  });
}

// Whether all of a call's rows begin at multiples of 16 bytes; null does.
template <std::size_t tensors>
bool are_wide(const void* const (&data)[tensors], int columns) {
  return columns % wide_access == 0 && std::all_of(data, data + tensors, [](const void* each) {
           return reinterpret_cast<std::uintptr_t>(each) % 16 == 0;
         });
}

}  // namespace

void launch(const RmsNormForward& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  const bool wide = are_wide({call.x, call.addend, call.weight, call.sum, call.out}, call.columns);
  const RowPlan plan = row_plan(call.columns, wide ? wide_access : 1);
  const auto blocks = static_cast<unsigned>(call.rows);
  with_dtypes(call.dtypes, [&](auto of_stream, auto of_products) {
    with_plan(wide, plan, [&](auto count, auto steps) {
      fused_rms_norm_forward<decltype(of_stream), decltype(of_products), count.number, steps.number>
          <<<blocks, plan.threads, 0, stream>>>(call);
    });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

int blocks_of_backward(std::int64_t rows, int columns) {
  const int threads = row_plan(columns, columns % wide_access == 0 ? wide_access : 1).threads;
  const int of_multiprocessor = std::max(1, threads_a_multiprocessor / threads);
  return static_cast<int>(std::min<std::int64_t>(rows, multiprocessors * of_multiprocessor));
}

void launch(const RmsNormBackward& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  const bool wide = are_wide(
      {call.x, call.weight, call.dout, call.dsum, call.dx, call.daddend, call.parts}, call.columns);
  const RowPlan plan = row_plan(call.columns, wide ? wide_access : 1);
  const int blocks = blocks_of_backward(call.rows, call.columns);
  with_dtypes(call.dtypes, [&](auto of_stream, auto of_products) {
    using Stream = decltype(of_stream);
    with_plan(wide, plan, [&](auto count, auto steps) {
      fused_rms_norm_backward<Stream, decltype(of_products), count.number, steps.number>
          <<<blocks, plan.threads, 0, stream>>>(call);
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    const int of_columns = (call.columns + norm_warp - 1) / norm_warp;
    fused_rms_norm_weight_gradient<<<of_columns, dim3(norm_warp, norm_warp), 0, stream>>>(
        call.parts, blocks, call.columns, static_cast<Stream*>(call.dweight));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
