#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// What PTX calls the elements.
namespace assay::flash {

template <class Element>
struct ElementName;
template <>
struct ElementName<__nv_bfloat16> {
  static constexpr char text[] = "bf16";
};
template <>
struct ElementName<__half> {
  static constexpr char text[] = "f16";
};

}  // namespace assay::flash
