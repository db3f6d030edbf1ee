#pragma once

namespace assay::norm_parts {

enum class Dtype { fp32, bf16, fp16 };

// Contiguous elements whose dtype is known when the program runs. Without data: no such tensor.
struct Typed {
  void* data = nullptr;
  Dtype dtype = Dtype::fp32;
};

}  // namespace assay::norm_parts
