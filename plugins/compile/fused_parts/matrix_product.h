#pragma once

#include <ATen/core/Tensor.h>
#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace assay::fused {

struct ProductAlgorithm {
  cublasLtMatmulAlgo_t of_cublaslt;
  std::int64_t workspace_bytes;
};

// Matrix products by cuBLASLt where both matrices have 16 bits an element, by LibTorch otherwise.
// cuBLASLt accumulates in fp32 and writes fp32 or the matrices' dtype. Of the algorithms that it
// proposes for a shape the fastest is taken: the first product of a shape outside of a capture
// times them, which waits for the device.
class MatrixProduct {
 public:
  // out: [m, n] contiguous, a: [m, k], b: [k, n]; of a and b one of the strides is 1. Records no
  // graph and ignores autocast.
  void operator()(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

 private:
  using Shape = std::array<std::int64_t, 11>;
  struct Choice {
    std::optional<ProductAlgorithm> algorithm;  // none: LibTorch's product
    bool is_timed = false;
  };

  std::map<Shape, Choice> choices_;
};

}  // namespace assay::fused
