#include "adamw_kernel.h"

#include <c10/cuda/CUDAException.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

namespace assay::fused {

namespace {

constexpr int width = 4;  // elements of a 16-byte load of fp32
constexpr int chunk = 16'384;
constexpr int most_tensors = 60;

// A block of threads a chunk.
struct Spread {
  static constexpr int threads = 256;
  static constexpr int at_once = 1;  // accesses of a thread that are on their way together
};
// A block of threads a multiprocessor, which goes from chunk to chunk: it alone has to have as much
// on its way as the memory is far away, and leaves registers to other kernels' blocks.
struct Gathered {
  static constexpr int threads = 512;
  static constexpr int at_once = 2;
};

// Of one launch. Chunk c is of tensor t where first_chunk[t] <= c < first_chunk[t + 1].
struct Table {
  float* parameter[most_tensors];
  void* gradient[most_tensors];
  float* first_moment[most_tensors];
  float* second_moment[most_tensors];
  const float* step[most_tensors];
  void* copy[most_tensors];
  std::int64_t elements[most_tensors];
  int first_chunk[most_tensors + 1];
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

// A chunk of a tensor.
template <class Gradient, class Copy>
struct Part {
  float* parameter;
  Gradient* gradient;
  float* first_moment;
  float* second_moment;
  Copy* copy;
  int elements;
};

// As many elements as one access takes, aligned so.
template <class Element, int count>
struct alignas(count * sizeof(Element)) Access {
  Element values[count];
};

template <int count, class Element>
__device__ Access<Element, count>& access(Element* elements, int first) {
  return *reinterpret_cast<Access<Element, count>*>(elements + first);
}

// `count` elements of a chunk on their way through registers: one, or as many as one access takes.
template <int count, class Gradient, class Copy>
struct Elements {
  Access<float, count> p, m, v;
  Access<Gradient, count> g;

  __device__ void read(const Part<Gradient, Copy>& part, int first) {
    p = access<count>(part.parameter, first);
    g = access<count>(part.gradient, first);
    m = access<count>(part.first_moment, first);
    v = access<count>(part.second_moment, first);
  }
  __device__ void update(const Constants& constants, const Common& of_tensor,
                         const GradientScaling& scaling) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      float gradient = wide(g.values[k]);
      if (scaling.changes) {
        gradient = gradient * scaling.factor / scaling.divisor;
        narrow(gradient, g.values[k]);
      }
      update_element(p.values[k], gradient, m.values[k], v.values[k], constants, of_tensor);
    }
  }
  __device__ void write(const Part<Gradient, Copy>& part, int first, bool gradients) const {
    access<count>(part.parameter, first) = p;
    access<count>(part.first_moment, first) = m;
    access<count>(part.second_moment, first) = v;
    if (gradients) access<count>(part.gradient, first) = g;
    if constexpr (!std::is_same_v<Copy, Nothing>) {
      Access<Copy, count> copies;
#pragma unroll
      for (int k = 0; k < count; ++k) narrow(p.values[k], copies.values[k]);
      access<count>(part.copy, first) = copies;
    }
  }
};

// Elements [first, end) of a chunk, `count` an access, shared out over the block.
template <class Way, int count, class Gradient, class Copy>
__device__ void update_range(const Part<Gradient, Copy>& part, int first, int end,
                             const Constants& constants, const Common& of_tensor,
                             const GradientScaling& scaling) {
  constexpr int stride = Way::threads * count;
  for (int at = first + static_cast<int>(threadIdx.x) * count; at < end;
       at += stride * Way::at_once) {
    Elements<count, Gradient, Copy> elements[Way::at_once];
#pragma unroll
    for (int k = 0; k < Way::at_once; ++k) {
      if (at + k * stride < end) elements[k].read(part, at + k * stride);
    }
#pragma unroll
    for (int k = 0; k < Way::at_once; ++k) {
      if (at + k * stride >= end) break;
      elements[k].update(constants, of_tensor, scaling);
      elements[k].write(part, at + k * stride, scaling.changes);
    }
  }
}

__device__ int tensor_of(const Table& table, int chunk_number) {
  int low = 0, high = table.tensors;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (table.first_chunk[middle] <= chunk_number ? low : high) = middle;
  }
  return low;
}

template <class Gradient, class Copy>
__device__ Part<Gradient, Copy> part_of(const Table& table, int tensor, int chunk_number) {
  const std::int64_t begin =
      static_cast<std::int64_t>(chunk_number - table.first_chunk[tensor]) * chunk;
  const std::int64_t left = table.elements[tensor] - begin;
  Part<Gradient, Copy> part = {table.parameter[tensor] + begin,
                               static_cast<Gradient*>(table.gradient[tensor]) + begin,
                               table.first_moment[tensor] + begin,
                               table.second_moment[tensor] + begin,
                               nullptr,
                               static_cast<int>(left < chunk ? left : chunk)};
  if constexpr (!std::is_same_v<Copy, Nothing>) {
    part.copy = static_cast<Copy*>(table.copy[tensor]) + begin;
  }
  return part;
}

template <class Way, class Gradient, class Copy>
__global__ __launch_bounds__(Way::threads) void fused_adamw(
    const __grid_constant__ Table table, const __grid_constant__ Constants constants) {
  if (constants.found_inf != nullptr && *constants.found_inf == 1) return;
  __shared__ Common shared;
  const GradientScaling scaling = gradient_scaling(constants);
  const int chunks = table.first_chunk[table.tensors];
  int known = -1;
  for (int number = static_cast<int>(blockIdx.x); number < chunks;
       number += static_cast<int>(gridDim.x)) {
    const int tensor = tensor_of(table, number);
    if (tensor != known) {
      __syncthreads();  // all have read what the tensor before has in common
      if (threadIdx.x == 0) shared = common(constants, *table.step[tensor]);
      __syncthreads();
      known = tensor;
    }
    const Common of_tensor = shared;
    const auto part = part_of<Gradient, Copy>(table, tensor, number);
    const int in_vectors = table.is_aligned[tensor] ? part.elements / width * width : 0;
    update_range<Way, width>(part, 0, in_vectors, constants, of_tensor, scaling);
    update_range<Way, 1>(part, in_vectors, part.elements, constants, of_tensor, scaling);
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

int chunks_of(const Update& update) {
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
  table.first_chunk[i + 1] = table.first_chunk[i] + chunks_of(update);
}

// What chooses a kernel.
struct Kind {
  Stored gradients, copies;
  int multiprocessors;
};

// Of blocks of threads that lie side by side: what products leave free must hold those of theirs
// whose blocks come in clusters, of eight at most.
unsigned cluster_of(int multiprocessors) {
  unsigned blocks = 8;
  while (multiprocessors % static_cast<int>(blocks) != 0) blocks /= 2;
  return blocks;
}

bool device_has_clusters() {
  int device = 0, has = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, device));
  return has != 0;
}

template <class Gradient, class Copy>
void launch_gathered(const Table& table, const Constants& constants, int multiprocessors,
                     cudaStream_t stream) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {cluster_of(multiprocessors), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(multiprocessors));
  config.blockDim = dim3(Gathered::threads);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = device_has_clusters() ? 1 : 0;
  C10_CUDA_CHECK(
      cudaLaunchKernelEx(&config, fused_adamw<Gathered, Gradient, Copy>, table, constants));
}

template <class Gradient, class Copy>
void launch(const Kind& kind, const Table& table, const Constants& constants, cudaStream_t stream) {
  const int chunks = table.first_chunk[table.tensors];
  if (chunks == 0) return;
  if (kind.multiprocessors > 0) {
    return launch_gathered<Gradient, Copy>(table, constants, kind.multiprocessors, stream);
  }
  fused_adamw<Spread, Gradient, Copy><<<chunks, Spread::threads, 0, stream>>>(table, constants);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class Gradient>
void launch_for(const Kind& kind, const Table& table, const Constants& constants,
                cudaStream_t stream) {
  if (kind.copies == Stored::bf16) {
    launch<Gradient, __nv_bfloat16>(kind, table, constants, stream);
  } else if (kind.copies == Stored::fp16) {
    launch<Gradient, __half>(kind, table, constants, stream);
  } else {
    launch<Gradient, Nothing>(kind, table, constants, stream);
  }
}

void launch_for(const Kind& kind, const Table& table, const Constants& constants,
                cudaStream_t stream) {
  if (kind.gradients == Stored::bf16) {
    launch_for<__nv_bfloat16>(kind, table, constants, stream);
  } else if (kind.gradients == Stored::fp16) {
    launch_for<__half>(kind, table, constants, stream);
  } else {
    launch_for<float>(kind, table, constants, stream);
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

void launch_adamw(const std::vector<Update>& updates, const Settings& settings, cudaStream_t stream,
                  int multiprocessors) {
  const Constants constants = constants_of(settings);
  for (const Stored gradients : {Stored::fp32, Stored::bf16, Stored::fp16}) {
    for (const Stored copies : {Stored::nothing, Stored::bf16, Stored::fp16}) {
      const Kind kind = {gradients, copies, multiprocessors};
      Table table{};
      for (const Update& update : updates) {
        if (update.gradient_dtype != gradients || update.copy_dtype != copies) continue;
        add(table, update);
        if (table.tensors < most_tensors) continue;
        launch_for(kind, table, constants, stream);
        table = {};
      }
      launch_for(kind, table, constants, stream);
    }
  }
}

}  // namespace assay::fused
