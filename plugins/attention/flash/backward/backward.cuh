#pragma once

#include "consumer.cuh"
#include "producer.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(BackwardShared<T>& shared) {
  constexpr int everyone = T::consumer_warps;
  const auto init = [](auto& full, auto& empty) {
    for (auto& barrier : full) init_barrier(barrier, 1);
    for (auto& barrier : empty) init_barrier(barrier, everyone);
  };
  init(shared.keys_full, shared.keys_empty);
  init(shared.values_full, shared.values_empty);
  init(shared.queries_full, shared.queries_empty);
  init(shared.douts_full, shared.douts_empty);
  init(shared.work_full, shared.work_empty);
  for (auto& barrier : shared.slopes_full) init_barrier(barrier, everyone);
  publish_barriers();
}

// dK, dV and the sums of dQ. A block of threads for each multiprocessor, which takes one tile of
// keys after the other; its first warpgroup loads, the others compute.
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  extern __shared__ __align__(swizzle_bytes) std::byte memory[];
  auto& shared = *reinterpret_cast<BackwardShared<T>*>(memory);

  if (threadIdx.x == 0) {
    prefetch_map(arguments.q);
    prefetch_map(arguments.k);
    prefetch_map(arguments.v);
    prefetch_map(arguments.dout);
    init_barriers(shared);
  }
  __syncthreads();
  if (threadIdx.x < warpgroup) {
    give_registers_back<T::producer_registers>();
    if (threadIdx.x == 0) produce_backward(arguments, shared);
  } else {
    take_registers<T::consumer_registers>();
    const Consumer me = consumer_of(static_cast<int>(threadIdx.x) - warpgroup);
    if (T::first_columns == T::rest_columns || me.group == 0) {
      consume_backward<T, T::first_columns>(arguments, shared, me);
    } else {
      consume_backward<T, T::rest_columns>(arguments, shared, me);
    }
  }
#endif
}

}  // namespace assay::flash
