#include "worker/pass/memory_floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "measure/memory.h"

namespace assay::worker {
namespace {

constexpr std::size_t mebibyte = 1 << 20;

// malloc()'s, not LibTorch's, and written.
std::unique_ptr<char[]> host_memory(std::size_t bytes) {
  auto memory = std::make_unique<char[]>(bytes);
  std::memset(memory.get(), 1, bytes);
  return memory;
}

class MemoryFloorTest : public testing::Test {
 protected:
  measure::CpuMemoryScope scope_;
  MemoryFloor floor_{at::Device(at::kCPU)};
};

TEST_F(MemoryFloorTest, WhatACallKeepsIsALeak) {
  std::vector<std::unique_ptr<char[]>> kept;
  kept.push_back(host_memory(8 * mebibyte));
  floor_.observe([&] { kept.push_back(host_memory(mebibyte)); });
  EXPECT_THAT(floor_.settle().leak, testing::EndsWith(" MiB of host memory"));
}

// A library loads what it needs once; its thread frees what it has sent behind the call.
TEST_F(MemoryFloorTest, WhatAThreadFreesAMomentLaterIsNone) {
  const auto loaded = host_memory(8 * mebibyte);
  std::thread sender;
  floor_.observe([&] {
    sender = std::thread([sent = host_memory(mebibyte)]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      sent.reset();
    });
  });
  sender.join();
  EXPECT_EQ(floor_.settle().leak, "");
}

}  // namespace
}  // namespace assay::worker
