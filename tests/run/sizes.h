#pragma once

#include <cstdint>

namespace assay::run {

inline constexpr std::int64_t gib = std::int64_t{1} << 30;

}  // namespace assay::run
