#include "run/plugins/fault_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FaultCalls, AreThoseBetweenTheHandlerAndTheCheck) {
  EXPECT_THAT(calls_of_fault({"/opt/lib/libassay_worker.so(+0x51) [0x7f1]",
                              "/opt/lib/libassay_worker.so(+0x92) [0x7f2]",
                              "/lib/x86_64-linux-gnu/libc.so.6(+0x3c050) [0x7f3]",
                              "/home/me/mine.so(_ZN4Mine7forwardEi+0x1d) [0x7f4]",
                              "/home/me/mine.so(+0x1a2b) [0x7f5]",
                              "/opt/lib/libassay_worker.so(_ZN5check3runEv+0x3) [0x7f6]",
                              "/lib/x86_64-linux-gnu/libc.so.6(__libc_start_main+0x85) [0x7f7]"},
                             {}),
              ElementsAre("Mine::forward(int) in mine.so", "mine.so + 0x1a2b"));
}

TEST(FaultCalls, OfAnAbortedProgramIncludeTheLibraries) {
  EXPECT_THAT(
      calls_of_fault(
          {"/opt/lib/libassay_worker.so(+0x51) [0x7f1]", "/lib/libc.so.6(+0x3c050) [0x7f2]",
           "/lib/libc.so.6(abort+0xd3) [0x7f3]", "/home/me/mine.so(mine_step+0x1d) [0x7f4]"},
          {}),
      ElementsAre("abort in libc.so.6", "mine_step in mine.so"));
}

TEST(FaultCalls, AreNoneWithoutATrace) { EXPECT_THAT(calls_of_fault({}, {}), IsEmpty()); }

}  // namespace
}  // namespace assay::run
