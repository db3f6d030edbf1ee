#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "problem.h"

// The kernels of each format from a host's view. Addresses and strides are multiples of 16 bytes,
// the head one of 8 up to 256, lengths are from 1 to 2^29. Any GPU from compute capability 8.0.
namespace assay::flash_portable {

// What a block of a kernel asks of the device.
struct Needs {
  void (*kernel)();
  int threads;
  std::size_t shared_bytes;
};

// The kernels of one format; each is compiled in a file of its own, kernels_<format>.cu.
struct Launcher {
  // Of all launches for a head of this size. Each kernel's shared memory must be granted before its
  // first launch (device/fit.cuh).
  std::vector<Needs> (*needs)(int head);
  // Computes out and lse.
  void (*forward)(const ForwardProblem& problem, cudaStream_t stream);
  // Computes dq, dk and dv, equal to the bit in every run.
  void (*backward)(const BackwardProblem& problem, cudaStream_t stream);
};

Launcher bf16();
Launcher fp16();
Launcher fp32();

}  // namespace assay::flash_portable
