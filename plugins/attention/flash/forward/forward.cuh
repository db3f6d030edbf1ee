#pragma once

#include "consumer.cuh"
#include "producer.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(Shared<T>& shared) {
  constexpr int everyone = T::consumer_warps;
  const auto init = [](auto& full, auto& empty) {
    for (auto& barrier : full) init_barrier(barrier, 1);
    for (auto& barrier : empty) init_barrier(barrier, everyone);
  };
  init(shared.queries_full, shared.queries_empty);
  init(shared.keys_full, shared.keys_empty);
  init(shared.values_full, shared.values_empty);
  init(shared.work_full, shared.work_empty);
  publish_barriers();
}

// out = softmax(scale · q kᵀ + mask) v and its log-sum-exp. A block of threads for each
// multiprocessor; its first warpgroup loads, the others compute.
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    forward(const __grid_constant__ Arguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  // Without static shared memory the dynamic begins where the driver's own 1024 bytes end.
  extern __shared__ __align__(swizzle_bytes) std::byte memory[];
  auto& shared = *reinterpret_cast<Shared<T>*>(memory);

  if (threadIdx.x == 0) {
    prefetch_map(arguments.q);
    prefetch_map(arguments.k);
    prefetch_map(arguments.v);
    if constexpr (!T::writes_floats) prefetch_map(arguments.out);
    init_barriers(shared);
  }
  __syncthreads();
  if (threadIdx.x < warpgroup) {
    if constexpr (T::moves_registers) give_registers_back<T::producer_registers>();
    if (threadIdx.x == 0) produce(arguments, shared);
  } else {
    if constexpr (T::moves_registers) take_registers<T::consumer_registers>();
    consume(arguments, shared, static_cast<int>(threadIdx.x) - warpgroup);
  }
#endif
}

}  // namespace assay::flash
