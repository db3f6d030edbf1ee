#pragma once

#include <c10/core/Device.h>

namespace assay {

inline const at::Device cuda(at::kCUDA, 0);

}  // namespace assay
