#pragma once

#include <cstdint>

// A kernel that fills the current device, enqueued on a stream (a cudaStream_t).
namespace assay::measure {

// How many of its blocks the device holds at once; 0 where it cannot hold them all together.
int blocks_of_a_full_device();

// So many blocks take every thread of the device, write `number` to memory that the host reads, and
// stay for so many cycles: meanwhile no other kernel finds a place. False where it was not
// launched.
bool hold_device(int blocks, std::int64_t cycles, int number, int* begun, void* stream);

}  // namespace assay::measure
