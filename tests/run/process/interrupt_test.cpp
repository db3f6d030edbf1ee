#include "run/process/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace assay::run {
namespace {

TEST(InterruptTest, OnceFinishesTheCaseTwiceStops) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Interrupt interrupt;
    interrupt.update();
    EXPECT_FALSE(interrupt.finish_case());
    ::raise(signal);
    interrupt.update();
    EXPECT_TRUE(interrupt.finish_case());
    EXPECT_FALSE(interrupt.stop_now());
    ::raise(signal);
    interrupt.update();
    EXPECT_TRUE(interrupt.stop_now());
  }
}

TEST(InterruptTest, TheFirstSignalIsToldOnce) {
  int told = 0;
  Interrupt interrupt([&told] { ++told; });
  interrupt.update();
  EXPECT_EQ(told, 0);
  for (int i = 0; i < 2; ++i) {
    ::raise(SIGINT);
    interrupt.update();
    EXPECT_EQ(told, 1);
  }
}

TEST(InterruptTest, WhatWasToRunOnWithoutItsTerminalDoes) {
  ::signal(SIGHUP, SIG_IGN);
  {
    Interrupt interrupt;
    ::raise(SIGHUP);
    interrupt.update();
    EXPECT_FALSE(interrupt.finish_case());
  }
  ::signal(SIGHUP, SIG_DFL);
}

TEST(InterruptTest, AProgramThatReadsNothingDoesNotEndTheHost) {
  const Interrupt interrupt;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EQ(::write(ends[1], "x", 1), -1);
  ::close(ends[1]);
}

TEST(InterruptTest, WhatItTookUpDoesNotStrikeLater) {
  {
    const Interrupt interrupt;
    ::raise(SIGINT);
  }
  SUCCEED() << "the process has not been ended by it";
}

}  // namespace
}  // namespace assay::run
