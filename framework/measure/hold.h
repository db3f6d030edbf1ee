#pragma once

#include <cstdint>

// A kernel that fills the current device, enqueued on a stream (a cudaStream_t).
namespace assay::measure {

// How many of its blocks the device holds at once; 0 where the driver cannot tell.
int blocks_of_a_full_device();

// So many blocks spin for so many cycles. Meanwhile no kernel of any other stream finds a place: a
// call cannot have work done elsewhere while the stream that it is timed on waits.
void hold_device(int blocks, std::int64_t cycles, void* stream);

}  // namespace assay::measure
