#pragma once

#include <cstdint>

// Kernels for what surrounds the products of a transformer. Matrices [rows, columns] have columns
// side by side; a stride is the distance of two rows in elements. Kernels compute in fp32 and only
// launch; what they read and write must outlive them.
namespace assay::fused {

enum class Dtype { fp32, bf16, fp16 };

constexpr int bytes_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

}  // namespace assay::fused
