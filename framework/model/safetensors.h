#pragma once

#include <assay/workload.h>

#include <filesystem>

#include "base/error.h"

namespace assay::model {

// The tensors of a .safetensors file, on the CPU, in the order of their data. The file is a length
// (8 bytes, little-endian), that many bytes of JSON {"name": {"dtype", "shape", "data_offsets"}},
// and the tensors' bytes one after the other, without gaps. Refused with a sentence that names the
// tensor: a header that is not that, a dtype LibTorch reads no such file of here (F64, F32, F16,
// BF16, I64 and I32 are read), offsets outside the file, overlapping or with gaps, and a size that
// does not go with dtype and shape.
Result<std::vector<NamedTensor>> read_safetensors(const std::filesystem::path& file);

// An exchange: tensors named "input.<name>" and "output.<name>", brought to `device`.
Result<Exchange> read_exchange(const std::filesystem::path& file, at::Device device);

// The tensor of that name. Throws std::invalid_argument where it is missing or has another shape or
// dtype.
at::Tensor exchanged(const std::vector<NamedTensor>& tensors, const std::string& name,
                     at::IntArrayRef sizes, at::ScalarType dtype);

}  // namespace assay::model
