#pragma once

#include <cuda_runtime_api.h>

#include "problem.h"

// What the backward needs of whole rows, before and after the tiles of keys.
namespace assay::flash {

// D = rowsum(dO ∘ O) and lse as the tiles want them; the sums of dQ and the counters at 0.
void prepare_rows(const RowArguments& arguments, Format format, cudaStream_t stream);

// dQ = scale · sums; dK and dV of the tiles of keys that are in parts.
void finish_rows(const RowArguments& arguments, Format format, cudaStream_t stream);

}  // namespace assay::flash
