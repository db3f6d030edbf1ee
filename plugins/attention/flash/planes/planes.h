#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include "attention/flash/problem.h"

// fp32 as a sum of three bf16: each is what the ones before have left, rounded to 8 bits.
namespace assay::flash {

inline constexpr int planes_of_fp32 = 3;

// Elements of a row of one plane: whole blocks of columns, zeros behind the head.
int plane_columns(const Shape& shape);

// Bytes of the planes of a tensor [batch, heads, rows, head].
std::int64_t bytes_of_planes(const Shape& shape, int heads, int rows);

// Splits a tensor on `stream` into [batch, heads, rows, 3, plane_columns()] at `planes`, and moves
// these on to behind it. The result is a tensor whose head is three planes side by side.
Operand split_in_planes(const Operand& from, const Shape& shape, int heads, int rows,
                        __nv_bfloat16*& planes, cudaStream_t stream);

}  // namespace assay::flash
