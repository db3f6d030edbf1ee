#pragma once

#include <ATen/core/Tensor.h>

#include "measure/content_pattern.h"

namespace assay::measure {

// Whether the contents of the tensor can be changed and changed back: dense memory of floating
// numbers or integers on a CPU, or on a GPU where this build has kernels.
bool is_renewable(const at::Tensor& tensor);

// Changes the contents in place; on a GPU enqueues that on the current stream. The tensor has the
// contents `from`. below: of whole numbers, 0 for others.
void renew(const at::Tensor& tensor, std::int64_t below, const Contents& from, const Contents& to);

// A keyed fingerprint of what the tensor held when it was built, if it now has the contents `now`
// undisturbed. Waits for the device.
std::uint64_t fingerprint(const at::Tensor& tensor, std::int64_t below, const Contents& now,
                          std::uint64_t key);

// Writes NaN to an element of each block, chosen by the key. Does nothing to integers.
void spoil(const at::Tensor& tensor, std::uint64_t key);

// A number from the operating system, never 0.
std::uint64_t secret();

}  // namespace assay::measure
