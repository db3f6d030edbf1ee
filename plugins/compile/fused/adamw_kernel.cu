#include "adamw_kernel.h"

#include <c10/cuda/CUDAException.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

constexpr int threads = 256;
constexpr int width = 4;  // elements of a 16-byte load of fp32
constexpr int most_parts = 60;
constexpr int most_steps = 448;

// What all elements of a tensor have in common.
struct alignas(2 * sizeof(float)) Common {
  float step_size;            // learning rate / (1 − β₁ᵗ)
  float root_of_correction2;  // √(1 − β₂ᵗ)
};

// Some of a tensor's elements.
struct Part {
  float* parameter;
  void* gradient;
  float* first_moment;
  float* second_moment;
  void* copy;
  const Common* common;
  std::int64_t accesses;  // of so many elements as a thread of the launch has
};

// Of one launch. Block b works on part i where first_block[i] <= b < first_block[i + 1].
struct Table {
  Part parts[most_parts];
  int first_block[most_parts + 1];
  int count;
};

struct Steps {
  const float* of_tensor[most_steps];
  int count;
  double log_beta1, log_beta2;
  float learning_rate;
};

struct Constants {
  float learning_rate, beta1, beta2, eps, weight_decay;
  const float* factor;
  const float* grad_scale;
  const float* found_inf;
};

constexpr std::size_t largest_arguments = 4096;  // bytes of a kernel's, whatever the GPU
static_assert(sizeof(Table) + sizeof(Constants) <= largest_arguments);
static_assert(sizeof(Steps) + sizeof(Common*) <= largest_arguments);

struct Nothing {};

// Ahead of the pass, whose blocks are too short for it.
__global__ __launch_bounds__(most_steps) void make_common(const __grid_constant__ Steps steps,
                                                          Common* common) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= steps.count) return;
  const float step = *steps.of_tensor[i];
  // 1 − βᵗ without cancellation where β is near 1.
  const double correction1 = -expm1(step * steps.log_beta1);
  const double correction2 = -expm1(step * steps.log_beta2);
  common[i] = {steps.learning_rate / static_cast<float>(correction1),
               static_cast<float>(sqrt(correction2))};
}

// Volatile: a plain load would be moved behind the wait for those around it.
__device__ Common read_now(const Common* from) {
  Common read;
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(read.step_size), "=f"(read.root_of_correction2)
               : "l"(from));
  return read;
}

__device__ float value_or_one(const float* at) { return at == nullptr ? 1.0f : *at; }

// Loshchilov and Hutter 2019, algorithm 2, rounded as LibTorch's fused AdamW does.
__device__ void update_element(float& p, float gradient, float& m, float& v,
                               const Constants& constants, const Common& common) {
  const float beta1 = constants.beta1, beta2 = constants.beta2;
  p -= constants.learning_rate * constants.weight_decay * p;
  m = fmaf(beta1, m, fmaf(-beta1, gradient, gradient));
  const float square = gradient * gradient;
  v = fmaf(beta2, v, fmaf(-beta2, square, square));
  const float denominator = sqrtf(v) / common.root_of_correction2 + constants.eps;
  p -= common.step_size * m / denominator;
}

__device__ int part_of(const Table& table, int block) {
  int low = 0, high = table.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (table.first_block[middle] <= block ? low : high) = middle;
  }
  return low;
}

// A thread has `count` neighbouring elements: one access of each tensor, so that blocks that begin
// keep memory busy while others end. `scales`: gradients change.
template <class Gradient, class Copy, int count, bool scales>
__global__ __launch_bounds__(threads) void fused_adamw(
    const __grid_constant__ Table table, const __grid_constant__ Constants constants) {
  const int block = static_cast<int>(blockIdx.x);
  const int at = part_of(table, block);
  const Part& part = table.parts[at];
  // The block's; what differs between threads is small, which spares registers.
  const std::int64_t first = static_cast<std::int64_t>(block - table.first_block[at]) * threads;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= part.accesses - first) return;

  using Floats = Pack<float, count>;
  auto& parameters = (reinterpret_cast<Floats*>(part.parameter) + first)[thread];
  auto& gradients = (static_cast<Pack<Gradient, count>*>(part.gradient) + first)[thread];
  auto& first_moments = (reinterpret_cast<Floats*>(part.first_moment) + first)[thread];
  auto& second_moments = (reinterpret_cast<Floats*>(part.second_moment) + first)[thread];
  Floats p = parameters, m = first_moments, v = second_moments;
  Pack<Gradient, count> g = gradients;
  const Common common = read_now(part.common);
  if (constants.found_inf != nullptr && *constants.found_inf == 1) return;
  const float factor = scales ? value_or_one(constants.factor) : 1;
  const float divisor = scales ? value_or_one(constants.grad_scale) : 1;
  const bool changes = scales && !(factor == 1 && divisor == 1);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    float gradient = to_float(g.at[k]);
    if (changes) {
      gradient = gradient * factor / divisor;
      g.at[k] = from_float<Gradient>(gradient);
    }
    update_element(p.at[k], gradient, m.at[k], v.at[k], constants, common);
  }
  parameters = p;
  first_moments = m;
  second_moments = v;
  if (changes) gradients = g;
  if constexpr (!std::is_same_v<Copy, Nothing>) {
    Pack<Copy, count> copies;
#pragma unroll
    for (int k = 0; k < count; ++k) copies.at[k] = from_float<Copy>(p.at[k]);
    (static_cast<Pack<Copy, count>*>(part.copy) + first)[thread] = copies;
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

std::int64_t blocks_of(std::int64_t accesses) { return (accesses + threads - 1) / threads; }

// Launches of parts that have the same dtypes and as many elements a thread.
class Pass {
 public:
  Pass(Stored gradients, Stored copies, int of_thread, const Constants& constants,
       cudaStream_t stream)
      : gradients_(gradients),
        copies_(copies),
        of_thread_(of_thread),
        constants_(constants),
        stream_(stream) {}

  // `elements` of the update from `first` on.
  void add(const Update& update, std::int64_t first, std::int64_t elements, const Common* common) {
    if (elements == 0) return;
    const auto moved = [&](void* address, Stored dtype) -> void* {
      return static_cast<char*>(address) + first * static_cast<std::int64_t>(bytes_of(dtype));
    };
    const std::int64_t accesses = elements / of_thread_;
    const int i = table_.count++;
    table_.parts[i] = {.parameter = update.parameter + first,
                       .gradient = moved(update.gradient, update.gradient_dtype),
                       .first_moment = update.first_moment + first,
                       .second_moment = update.second_moment + first,
                       .copy = moved(update.copy, update.copy_dtype),
                       .common = common,
                       .accesses = accesses};
    table_.first_block[i + 1] = table_.first_block[i] + static_cast<int>(blocks_of(accesses));
    if (table_.count == most_parts) launch();
  }

  void launch() {
    if (table_.count == 0) return;
    if (gradients_ == Stored::bf16) {
      launch_of<__nv_bfloat16>();
    } else if (gradients_ == Stored::fp16) {
      launch_of<__half>();
    } else {
      launch_of<float>();
    }
    table_ = {};
  }

 private:
  template <class Gradient>
  void launch_of() const {
    if (copies_ == Stored::bf16) {
      launch_of<Gradient, __nv_bfloat16>();
    } else if (copies_ == Stored::fp16) {
      launch_of<Gradient, __half>();
    } else {
      launch_of<Gradient, Nothing>();
    }
  }

  template <class Gradient, class Copy>
  void launch_of() const {
    auto* kernel = fused_adamw<Gradient, Copy, 1, true>;
    if (of_thread_ == width) {
      const bool scales = constants_.factor != nullptr || constants_.grad_scale != nullptr;
      kernel = scales ? fused_adamw<Gradient, Copy, width, true>
                      : fused_adamw<Gradient, Copy, width, false>;
    }
    kernel<<<table_.first_block[table_.count], threads, 0, stream_>>>(table_, constants_);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  Stored gradients_, copies_;
  int of_thread_;
  const Constants& constants_;
  cudaStream_t stream_;
  Table table_{};
};

void launch_common(const std::vector<Update>& updates, const Settings& settings, Common* common,
                   cudaStream_t stream) {
  for (std::size_t first = 0; first < updates.size(); first += most_steps) {
    Steps steps{
        .count = static_cast<int>(std::min<std::size_t>(most_steps, updates.size() - first)),
        .log_beta1 = std::log(settings.beta1),
        .log_beta2 = std::log(settings.beta2),
        .learning_rate = static_cast<float>(settings.learning_rate)};
    for (int i = 0; i < steps.count; ++i) {
      steps.of_tensor[i] = updates[first + static_cast<std::size_t>(i)].step;
    }
    make_common<<<1, most_steps, 0, stream>>>(steps, common + first);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
}

Constants constants_of(const Settings& settings) {
  return {static_cast<float>(settings.learning_rate),
          static_cast<float>(settings.beta1),
          static_cast<float>(settings.beta2),
          static_cast<float>(settings.eps),
          static_cast<float>(settings.weight_decay),
          settings.factor,
          settings.grad_scale,
          settings.found_inf};
}

}  // namespace

void launch_adamw(const std::vector<Update>& updates, const Settings& settings, float* workspace,
                  cudaStream_t stream) {
  static_assert(sizeof(Common) == adamw_workspace * sizeof(float));
  auto* const common = reinterpret_cast<Common*>(workspace);
  launch_common(updates, settings, common, stream);
  const Constants constants = constants_of(settings);
  for (const Stored gradients : {Stored::fp32, Stored::bf16, Stored::fp16}) {
    for (const Stored copies : {Stored::nothing, Stored::bf16, Stored::fp16}) {
      Pass in_vectors(gradients, copies, width, constants, stream);
      Pass one_by_one(gradients, copies, 1, constants, stream);
      for (std::size_t i = 0; i < updates.size(); ++i) {
        const Update& update = updates[i];
        if (update.gradient_dtype != gradients || update.copy_dtype != copies) continue;
        const std::int64_t vectors = is_aligned(update) ? update.elements / width * width : 0;
        in_vectors.add(update, 0, vectors, common + i);
        one_by_one.add(update, vectors, update.elements - vectors, common + i);
      }
      in_vectors.launch();
      one_by_one.launch();
    }
  }
}

}  // namespace assay::fused
