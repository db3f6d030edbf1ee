#include "adamw_kernel.h"

#include <c10/cuda/CUDAException.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

namespace assay::fused {

namespace {

constexpr int threads = 256;
constexpr int width = 4;  // elements of a 16-byte load of fp32
constexpr int chunk = threads * width * 16;
constexpr int most_tensors = 60;

// Of one launch. Block b works on tensor t where first_block[t] <= b < first_block[t + 1].
struct Table {
  float* parameter[most_tensors];
  void* gradient[most_tensors];
  float* first_moment[most_tensors];
  float* second_moment[most_tensors];
  const float* step[most_tensors];
  void* copy[most_tensors];
  std::int64_t elements[most_tensors];
  int first_block[most_tensors + 1];
  bool is_aligned[most_tensors];
  int tensors;
};

struct Constants {
  double log_beta1, log_beta2;
  float learning_rate, beta1, beta2, eps, weight_decay;
  const float* factor;
  const float* grad_scale;
  const float* found_inf;
};

static_assert(sizeof(Table) + sizeof(Constants) <= 4096, "what a kernel's arguments may hold");

struct Nothing {};

__device__ float wide(float x) { return x; }
__device__ float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ float wide(__half x) { return __half2float(x); }

__device__ void narrow(float x, float& to) { to = x; }
__device__ void narrow(float x, __nv_bfloat16& to) { to = __float2bfloat16_rn(x); }
__device__ void narrow(float x, __half& to) { to = __float2half_rn(x); }

// What all elements of a tensor have in common.
struct Common {
  float step_size;            // learning rate / (1 − β₁ᵗ)
  float root_of_correction2;  // √(1 − β₂ᵗ)
};

__device__ Common common(const Constants& constants, float step) {
  // 1 − βᵗ without cancellation where β is near 1.
  const double correction1 = -expm1(step * constants.log_beta1);
  const double correction2 = -expm1(step * constants.log_beta2);
  return {constants.learning_rate / static_cast<float>(correction1),
          static_cast<float>(sqrt(correction2))};
}

struct GradientScaling {
  float factor, divisor;
  bool changes;
};

__device__ GradientScaling gradient_scaling(const Constants& constants) {
  const float factor = constants.factor == nullptr ? 1.0f : *constants.factor;
  const float divisor = constants.grad_scale == nullptr ? 1.0f : *constants.grad_scale;
  return {factor, divisor, !(factor == 1.0f && divisor == 1.0f)};
}

// Loshchilov and Hutter 2019, algorithm 2, rounded as LibTorch's fused AdamW does.
__device__ void update_element(float& p, float gradient, float& m, float& v,
                               const Constants& constants, const Common& of_tensor) {
  const float beta1 = constants.beta1, beta2 = constants.beta2;
  p -= constants.learning_rate * constants.weight_decay * p;
  m = fmaf(beta1, m, fmaf(-beta1, gradient, gradient));
  const float square = gradient * gradient;
  v = fmaf(beta2, v, fmaf(-beta2, square, square));
  const float denominator = sqrtf(v) / of_tensor.root_of_correction2 + constants.eps;
  p -= of_tensor.step_size * m / denominator;
}

// One block's part of a tensor.
template <class Gradient, class Copy>
struct Part {
  float* parameter;
  Gradient* gradient;
  float* first_moment;
  float* second_moment;
  Copy* copy;
  int elements;
};

// `count` elements from `first` on: one, or as many as one access takes, aligned so.
template <int count, class Gradient, class Copy>
__device__ void update_elements(const Part<Gradient, Copy>& part, int first,
                                const Constants& constants, const Common& of_tensor,
                                const GradientScaling& scaling) {
  struct alignas(count * sizeof(float)) Floats {
    float values[count];
  };
  struct alignas(count * sizeof(Gradient)) Gradients {
    Gradient values[count];
  };
  auto& parameters = *reinterpret_cast<Floats*>(part.parameter + first);
  auto& gradients = *reinterpret_cast<Gradients*>(part.gradient + first);
  auto& first_moments = *reinterpret_cast<Floats*>(part.first_moment + first);
  auto& second_moments = *reinterpret_cast<Floats*>(part.second_moment + first);
  Floats p = parameters, m = first_moments, v = second_moments;
  Gradients g = gradients;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    float gradient = wide(g.values[k]);
    if (scaling.changes) {
      gradient = gradient * scaling.factor / scaling.divisor;
      narrow(gradient, g.values[k]);
    }
    update_element(p.values[k], gradient, m.values[k], v.values[k], constants, of_tensor);
  }
  parameters = p;
  first_moments = m;
  second_moments = v;
  if (scaling.changes) gradients = g;
  if constexpr (!std::is_same_v<Copy, Nothing>) {
    struct alignas(count * sizeof(Copy)) Copies {
      Copy values[count];
    };
    Copies copies;
#pragma unroll
    for (int k = 0; k < count; ++k) narrow(p.values[k], copies.values[k]);
    *reinterpret_cast<Copies*>(part.copy + first) = copies;
  }
}

__device__ int tensor_of(const Table& table, int block) {
  int low = 0, high = table.tensors;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (table.first_block[middle] <= block ? low : high) = middle;
  }
  return low;
}

template <class Gradient, class Copy>
__global__ __launch_bounds__(threads) void fused_adamw(
    const __grid_constant__ Table table, const __grid_constant__ Constants constants) {
  if (constants.found_inf != nullptr && *constants.found_inf == 1) return;
  const int tensor = tensor_of(table, static_cast<int>(blockIdx.x));
  const std::int64_t begin =
      static_cast<std::int64_t>(static_cast<int>(blockIdx.x) - table.first_block[tensor]) * chunk;
  const std::int64_t left = table.elements[tensor] - begin;

  __shared__ Common shared;
  if (threadIdx.x == 0) shared = common(constants, *table.step[tensor]);
  __syncthreads();
  const Common of_tensor = shared;
  const GradientScaling scaling = gradient_scaling(constants);

  Part<Gradient, Copy> part = {table.parameter[tensor] + begin,
                               static_cast<Gradient*>(table.gradient[tensor]) + begin,
                               table.first_moment[tensor] + begin,
                               table.second_moment[tensor] + begin,
                               nullptr,
                               static_cast<int>(left < chunk ? left : chunk)};
  if constexpr (!std::is_same_v<Copy, Nothing>) {
    part.copy = static_cast<Copy*>(table.copy[tensor]) + begin;
  }
  const int in_vectors = table.is_aligned[tensor] ? part.elements / width * width : 0;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread * width; i < in_vectors; i += threads * width) {
    update_elements<width>(part, i, constants, of_tensor, scaling);
  }
  for (int i = in_vectors + thread; i < part.elements; i += threads) {
    update_elements<1>(part, i, constants, of_tensor, scaling);
  }
}

std::size_t bytes_of(Stored dtype) {
  return dtype == Stored::nothing ? 0 : dtype == Stored::fp32 ? sizeof(float) : 2;
}

bool is_aligned(const Update& update) {
  const auto fits = [](const void* address, std::size_t element) {
    return element == 0 || reinterpret_cast<std::uintptr_t>(address) % (width * element) == 0;
  };
  return fits(update.parameter, sizeof(float)) && fits(update.first_moment, sizeof(float)) &&
         fits(update.second_moment, sizeof(float)) &&
         fits(update.gradient, bytes_of(update.gradient_dtype)) &&
         fits(update.copy, bytes_of(update.copy_dtype));
}

int blocks_of(const Update& update) {
  return static_cast<int>((update.elements + chunk - 1) / chunk);
}

void add(Table& table, const Update& update) {
  const int i = table.tensors++;
  table.parameter[i] = update.parameter;
  table.gradient[i] = update.gradient;
  table.first_moment[i] = update.first_moment;
  table.second_moment[i] = update.second_moment;
  table.step[i] = update.step;
  table.copy[i] = update.copy;
  table.elements[i] = update.elements;
  table.is_aligned[i] = is_aligned(update);
  table.first_block[i + 1] = table.first_block[i] + blocks_of(update);
}

template <class Gradient, class Copy>
void launch(const Table& table, const Constants& constants, cudaStream_t stream) {
  const int blocks = table.first_block[table.tensors];
  if (blocks == 0) return;
  fused_adamw<Gradient, Copy><<<blocks, threads, 0, stream>>>(table, constants);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class Gradient>
void launch(Stored copies, const Table& table, const Constants& constants, cudaStream_t stream) {
  if (copies == Stored::bf16) {
    launch<Gradient, __nv_bfloat16>(table, constants, stream);
  } else if (copies == Stored::fp16) {
    launch<Gradient, __half>(table, constants, stream);
  } else {
    launch<Gradient, Nothing>(table, constants, stream);
  }
}

void launch(Stored gradients, Stored copies, const Table& table, const Constants& constants,
            cudaStream_t stream) {
  if (gradients == Stored::bf16) {
    launch<__nv_bfloat16>(copies, table, constants, stream);
  } else if (gradients == Stored::fp16) {
    launch<__half>(copies, table, constants, stream);
  } else {
    launch<float>(copies, table, constants, stream);
  }
}

Constants constants_of(const Settings& settings) {
  return {std::log(settings.beta1),
          std::log(settings.beta2),
          static_cast<float>(settings.learning_rate),
          static_cast<float>(settings.beta1),
          static_cast<float>(settings.beta2),
          static_cast<float>(settings.eps),
          static_cast<float>(settings.weight_decay),
          settings.factor,
          settings.grad_scale,
          settings.found_inf};
}

}  // namespace

void launch_adamw(const std::vector<Update>& updates, const Settings& settings,
                  cudaStream_t stream) {
  const Constants constants = constants_of(settings);
  for (const Stored gradients : {Stored::fp32, Stored::bf16, Stored::fp16}) {
    for (const Stored copies : {Stored::nothing, Stored::bf16, Stored::fp16}) {
      Table table{};
      for (const Update& update : updates) {
        if (update.gradient_dtype != gradients || update.copy_dtype != copies) continue;
        add(table, update);
        if (table.tensors < most_tensors) continue;
        launch(gradients, copies, table, constants, stream);
        table = {};
      }
      launch(gradients, copies, table, constants, stream);
    }
  }
}

}  // namespace assay::fused
