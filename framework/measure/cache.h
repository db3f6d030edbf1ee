#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

namespace assay::measure {

// Bytes of the cache that all memory traffic passes: a GPU's L2, or the sum of the last-level
// caches of the CPUs this process may use (32 MiB where the system does not say).
std::int64_t cache_bytes(const c10::Device& device);

// Large enough that no replacement policy keeps much of the earlier contents.
inline constexpr int times_the_cache = 4;

// Replaces the cache's contents by reading a buffer of times_the_cache its size. Reading leaves no
// dirty lines for later kernels to write back. The buffer is outside LibTorch's memory and does not
// count as the case's.
class CacheFlush {
 public:
  // Allocates and reads the buffer once. Throws c10::OutOfMemoryError or std::bad_alloc.
  explicit CacheFlush(const c10::Device& device);
  ~CacheFlush();
  CacheFlush(const CacheFlush&) = delete;
  CacheFlush& operator=(const CacheFlush&) = delete;

  // Enqueues the read on the current stream; on a CPU, reads with as many threads as operations use
  // before it returns.
  void flush();
  std::int64_t bytes() const;

  class Buffer;

 private:
  std::unique_ptr<Buffer> buffer_;
};

// Number of programs of `program_bytes` to rotate so that times_the_cache passes between two calls
// of the same one. 1 where a single one is larger than that. Limited by `free_bytes` and by the
// time to build them; 0 where not even twice the cache would pass or the program holds nothing.
// called_bytes: what a program holds after its calls, where that is more.
int programs_to_rotate(std::int64_t program_bytes, std::int64_t cache_bytes,
                       std::int64_t free_bytes, std::int64_t called_bytes = 0);

std::int64_t free_bytes(const c10::Device& device);

}  // namespace assay::measure
