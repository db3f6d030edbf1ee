#pragma once

#include <cstddef>
#include <string>

#include "events.h"

namespace assay::kernels {

constexpr std::size_t most_trace_bytes = 16u << 20;

struct Trace {
  std::string gzip;          // JSON in Chrome's trace event format, which Perfetto opens
  std::size_t left_out = 0;  // events beyond the limit, the last ones
};

// Host threads and device streams as tracks, each kernel with its ranges and an arrow from its
// launch. Throws std::runtime_error where compressing fails. most_bytes: from 4 KiB on.
Trace trace_of(const Events& events, std::size_t most_bytes = most_trace_bytes);

}  // namespace assay::kernels
