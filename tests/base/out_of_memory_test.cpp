#include "base/out_of_memory.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(OutOfMemory, OfAGpuNamesWhatWasAskedAndWhatWasFree) {
  EXPECT_EQ(
      out_of_memory_in_words(
          "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.81 "
          "GiB "
          "of which 1.25 GiB is free. Including non-PyTorch memory, this process has 138.55 GiB "
          "memory in use. Of the allocated memory 137.00 GiB is allocated by PyTorch, and 1.00 GiB "
          "is reserved by PyTorch but unallocated."),
      "CUDA out of memory: 20.00 GiB asked for, 1.25 GiB of 139.81 GiB free, 138.55 GiB held by "
      "this "
      "process");
}

TEST(OutOfMemory, OfTheHostNamesWhatWasAsked) {
  EXPECT_EQ(out_of_memory_in_words(
                "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate "
                "memory: you tried to allocate 1099511627776 bytes. Error code 12 (Cannot allocate "
                "memory)"),
            "host memory ran out: 1.00 TiB asked for");
}

TEST(OutOfMemory, OtherTextsAreNotTouched) {
  EXPECT_FALSE(out_of_memory_in_words("CUDA error: an illegal memory access was encountered"));
  EXPECT_FALSE(out_of_memory_in_words("CUDA out of memory"));
  EXPECT_TRUE(means_out_of_memory("CUDA out of memory"));
  EXPECT_TRUE(means_out_of_memory("CUBLAS_STATUS_ALLOC_FAILED"));
  EXPECT_FALSE(means_out_of_memory("an illegal memory access was encountered"));
}

}  // namespace
}  // namespace assay
