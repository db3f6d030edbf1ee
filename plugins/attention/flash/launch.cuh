#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "operand.cuh"
#include "problem.h"

// What every launch needs: tensors as the copy engine sees them, kernels behind each other.
namespace assay::flash {

inline void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // for whoever looks next
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
  }
}

// attribute: may be null.
template <class Arguments>
void launch_with(cudaLaunchAttribute* attribute, void (*kernel)(Arguments), unsigned blocks,
                 int threads, int shared_bytes, cudaStream_t stream, const Arguments& arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = attribute != nullptr ? 1 : 0;
  require(cudaLaunchKernelEx(&config, kernel, arguments), "a kernel did not start");
}

// Launches a kernel that may begin before the one before it in the stream has ended, for which it
// waits itself (wait_for_kernel_before()).
template <class Arguments>
void launch_behind(void (*kernel)(Arguments), unsigned blocks, int threads, int shared_bytes,
                   cudaStream_t stream, const Arguments& arguments) {
  cudaLaunchAttribute behind = {};
  behind.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  behind.val.programmaticStreamSerializationAllowed = 1;
  launch_with(&behind, kernel, blocks, threads, shared_bytes, stream, arguments);
}

// Clusters of `together` blocks.
template <class Arguments>
void launch_in_clusters(void (*kernel)(Arguments), unsigned blocks, int together, int threads,
                        int shared_bytes, cudaStream_t stream, const Arguments& arguments) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(together), 1, 1};
  launch_with(together > 1 ? &cluster : nullptr, kernel, blocks, threads, shared_bytes, stream,
              arguments);
}

// The driver's function, found at run time: nothing needs the driver to be linked.
inline auto tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  require(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &found),
          "the driver has no cuTensorMapEncodeTiled");
  if (found != cudaDriverEntryPointSuccess) {
    throw std::runtime_error("the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

// `operand` [batch, heads, rows, head] in boxes of `box_rows` rows and a block of columns.
inline CUtensorMap tensor_map(const Operand& operand, bool bf16, int batch, int heads, int rows,
                              int head, int box_rows) {
  static const auto encode = tensor_map_encoder();
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(head), static_cast<cuuint64_t>(rows),
                              static_cast<cuuint64_t>(heads), static_cast<cuuint64_t>(batch)};
  // The stride of a dimension of one entry means nothing, and may be one the engine refuses.
  const auto bytes = [&](std::int64_t elements, int size) {
    return static_cast<cuuint64_t>(size > 1 ? 2 * elements : (2 * head + 15) / 16 * 16);
  };
  const cuuint64_t strides[] = {bytes(operand.row_stride, rows), bytes(operand.head_stride, heads),
                                bytes(operand.batch_stride, batch)};
  const cuuint32_t box[] = {block_columns, static_cast<cuuint32_t>(box_rows), 1, 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      encode(&map, bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
             const_cast<void*>(operand.data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled refuses a tensor, error " +
                             std::to_string(result));
  }
  return map;
}

// Columns of a row as it is loaded.
template <class T>
int loaded_columns(const Shape& shape) {
  return T::planes == 1 ? shape.head : T::loaded_head;
}

// `operand` [batch, heads, rows, loaded_columns<T>(shape)].
template <class T>
CUtensorMap tensor_map_for(const Operand& operand, Format format, const Shape& shape, int heads,
                           int rows, int box_rows) {
  return tensor_map(operand, format != Format::fp16, shape.batch, heads, rows,
                    loaded_columns<T>(shape), box_rows);
}

// Heads of k, of so many bytes each with what belongs to them, that lie in 32 MB of L2 (of 50)
// together.
inline int kv_heads_in_cache(const Shape& shape, std::int64_t bytes_of_head) {
  constexpr std::int64_t budget = 32 << 20;
  const std::int64_t heads = std::max<std::int64_t>(1, budget / bytes_of_head);
  return static_cast<int>(
      std::min<std::int64_t>(heads, std::int64_t{shape.batch} * shape.kv_heads));
}

inline int processors_of_device() {
  int device = 0, processors = 0;
  require(cudaGetDevice(&device), "no device");
  require(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
          "the device does not say how many multiprocessors it has");
  return processors;
}

}  // namespace assay::flash
