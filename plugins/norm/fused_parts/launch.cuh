#pragma once

#include <cuda_runtime.h>

#include "plan.h"

namespace assay::norm_parts {

// `blocks` counts those of a cluster once.
template <class... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), const Plan& plan, cudaStream_t stream,
                   const Parameters&... parameters) {
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.dynamic_shared_bytes);
  if (error != cudaSuccess) return error;
  const auto cluster = static_cast<unsigned>(plan.layout.cluster);
  cudaLaunchAttribute shared_rows = {};
  shared_rows.id = cudaLaunchAttributeClusterDimension;
  shared_rows.val.clusterDim.x = cluster;
  shared_rows.val.clusterDim.y = shared_rows.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(plan.layout.blocks) * cluster);
  config.blockDim =
      dim3(static_cast<unsigned>(plan.layout.threads), static_cast<unsigned>(plan.layout.groups));
  config.dynamicSmemBytes = static_cast<std::size_t>(plan.dynamic_shared_bytes);
  config.stream = stream;
  config.attrs = &shared_rows;
  config.numAttrs = cluster > 1 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, parameters...);
}

}  // namespace assay::norm_parts
