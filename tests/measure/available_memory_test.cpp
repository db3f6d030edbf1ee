#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/host_memory.h"
#include "measure/memory.h"

namespace assay::measure {
namespace {

TEST(AvailableHostBytes, AreARanksShareOfWhatTheMachineLeaves) {
  ::unsetenv(memory_limit_variable);
  const auto host = host_memory();
  ASSERT_TRUE(host);
  const std::int64_t whole = available_host_bytes(1);
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, host->total);
  // Other processes take and give back memory meanwhile.
  EXPECT_NEAR(static_cast<double>(available_host_bytes(8)), static_cast<double>(whole) / 8,
              static_cast<double>(whole) / 16);
}

TEST(AvailableHostBytes, EndAtTheLimit) {
  const std::int64_t held = number_behind("/proc/self/status", "VmRSS:").value_or(0) * 1024;
  ASSERT_GT(held, 1 << 20);
  constexpr std::int64_t more = std::int64_t{64} << 20;
  ::setenv(memory_limit_variable, std::to_string(held + more).c_str(), 1);
  EXPECT_LE(available_host_bytes(1), more);
  EXPECT_GT(available_host_bytes(1), more / 2);
  ::setenv(memory_limit_variable, "1 MiB", 1);
  EXPECT_EQ(available_host_bytes(1), 0);
  ::unsetenv(memory_limit_variable);
}

}  // namespace
}  // namespace assay::measure
