#pragma once

#include <assay/workload.h>

#include <filesystem>

#include "base/error.h"

namespace assay::model {

// Reads the tensors of a .safetensors file to the CPU, in the order of their data. Format: a length
// (8 bytes, little-endian), that many bytes of JSON {"name": {"dtype", "shape", "data_offsets"}},
// and the tensors' bytes without gaps. Reads F64, F32, F16, BF16, I64 and I32. The error names the
// tensor: bad header, other dtypes, offsets that overlap, leave gaps or exceed the file, a size
// that contradicts dtype and shape. Only regular files are read, no links.
Result<std::vector<NamedTensor>> read_safetensors(const std::filesystem::path& file);

// Reads an exchange, tensors named "input.<name>" and "output.<name>", to `device`.
Result<Exchange> read_exchange(const std::filesystem::path& file, at::Device device);

// Whether an exchanged norm has a bias, called `name` among `inputs`. Where the case names a norm
// (ops.norm), the exchange must agree with it, else std::invalid_argument is thrown; where it names
// none, the norm is the other program's and `inputs` decide.
bool exchanged_norm_has_bias(const Ops& ops, const std::vector<NamedTensor>& inputs,
                             const std::string& name);

}  // namespace assay::model
