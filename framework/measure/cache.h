#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

namespace assay::measure {

// Bytes of the cache that all memory traffic goes through: a GPU's L2, or the last-level caches of
// the CPUs that this process may run on, taken together (32 MiB where the system does not tell).
std::int64_t cache_bytes(const c10::Device& device);

// Several times the cache: no replacement policy then keeps much of what was there before.
inline constexpr int times_the_cache = 4;

// Replaces what the cache holds by reading a buffer of several times its size. Reading leaves no
// line that has to be written back, at a later kernel's cost. The buffer is not LibTorch's memory
// and does not count as the case's.
class CacheFlush {
 public:
  // Allocates the buffer and reads it once. Throws c10::OutOfMemoryError or std::bad_alloc.
  explicit CacheFlush(const c10::Device& device);
  ~CacheFlush();
  CacheFlush(const CacheFlush&) = delete;
  CacheFlush& operator=(const CacheFlush&) = delete;

  // Enqueues the reading on the current stream; on a CPU it is done on return, by as many threads
  // as operations use.
  void flush();
  std::int64_t bytes() const;

  class Buffer;

 private:
  std::unique_ptr<Buffer> buffer_;
};

// How many programs of `program_bytes` must take turns for several times the cache to pass by
// between two calls of the same one. 1: a single one is larger than that. At most as many as
// `free_bytes` and the time to build them allow; 0 where not even twice the cache passes by then,
// or the program holds nothing.
// called_bytes: what a program holds once it has been called, where that is more.
int programs_to_rotate(std::int64_t program_bytes, std::int64_t cache_bytes,
                       std::int64_t free_bytes, std::int64_t called_bytes = 0);

// Bytes that can still be allocated on the device.
std::int64_t free_bytes(const c10::Device& device);

}  // namespace assay::measure
