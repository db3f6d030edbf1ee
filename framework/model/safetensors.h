#pragma once

#include <assay/workload.h>

#include <filesystem>

#include "base/error.h"

namespace assay::model {

// The tensors of a .safetensors file, on the CPU, in the order of their data. The file is a length
// (8 bytes, little-endian), that many bytes of JSON {"name": {"dtype", "shape", "data_offsets"}},
// and the tensors' bytes one after the other, without gaps. Refused with a sentence that names the
// tensor: what is no regular file, a header that is not that, a dtype LibTorch reads no such file
// of here (F64, F32, F16, BF16, I64 and I32 are read), offsets outside the file, overlapping or
// with gaps, and a size that does not go with dtype and shape.
Result<std::vector<NamedTensor>> read_safetensors(const std::filesystem::path& file);

// An exchange: tensors named "input.<name>" and "output.<name>", brought to `device`.
Result<Exchange> read_exchange(const std::filesystem::path& file, at::Device device);

// The tensor of that name. Throws std::invalid_argument where it is missing or has another shape or
// dtype.
at::Tensor exchanged(const std::vector<NamedTensor>& tensors, const std::string& name,
                     at::IntArrayRef sizes, at::ScalarType dtype);

// Whether an exchanged norm has a bias, which is then called `name` among `inputs`. Where the case
// names a norm (ops.norm) the exchange must agree with it; otherwise the norm is the other
// program's own, and its inputs tell. Throws std::invalid_argument where they do not agree.
bool exchanged_norm_has_bias(const Ops& ops, const std::vector<NamedTensor>& inputs,
                             const std::string& name);

}  // namespace assay::model
