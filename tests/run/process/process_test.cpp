#include "run/process/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <iterator>
#include <sstream>
#include <vector>

namespace assay::run {
namespace {

std::string everything(wire::Descriptor& stream) {
  std::string text;
  while (drain(stream, text)) {
  }
  return text;
}

TEST(ProcessTest, CapturesBothStreamsAndTheExitCode) {
  auto process = Process::start({{"sh", "-c", "echo out; echo err >&2; exit 3"}, {}, false});
  ASSERT_TRUE(process) << process.error().text();
  EXPECT_EQ(everything(process->output()), "out\n");
  EXPECT_EQ(everything(process->errors()), "err\n");
  const ProcessEnd end = process->wait();
  EXPECT_FALSE(end.signalled);
  EXPECT_EQ(end.text(), "exit code 3");
}

TEST(ProcessTest, NamesTheSignalThatEndedIt) {
  auto process = Process::start({{"sh", "-c", "kill -SEGV $$"}, {}, false});
  ASSERT_TRUE(process);
  EXPECT_EQ(process->wait().text(), "signal 11 (SIGSEGV: Segmentation fault)");
}

TEST(ProcessTest, WhatThisProcessHasOpenIsNotTheOthers) {
  const wire::Descriptor open(::dup(STDIN_FILENO));  // not closed at exec
  const wire::Descriptor passed(::dup(STDIN_FILENO));
  // `true` keeps the shell from becoming ls, which opens the folder that it lists.
  Process::Command command = {{"sh", "-c", "ls /proc/$$/fd; true"}, {}, false};
  command.passed = {passed.number()};
  const auto captured = capture(command);
  ASSERT_TRUE(captured);
  std::istringstream listed(captured->output);
  const std::vector<int> numbers{std::istream_iterator<int>(listed), {}};
  EXPECT_THAT(numbers, ::testing::UnorderedElementsAre(0, 1, 2, passed.number()));
}

TEST(ProcessTest, OneThatPrintsWithoutEndDoesNotHoldItsReaderUp) {
  auto process = Process::start({{"yes"}, {}, false});
  ASSERT_TRUE(process);
  std::string text;
  for (int i = 0; i < 20; ++i) {
    const std::size_t before = text.size();
    EXPECT_TRUE(drain(process->output(), text));
    EXPECT_LE(text.size() - before, std::size_t{2} << 20);
  }
  process->kill();
}

TEST(ProcessTest, ArgumentsReachTheProgramAsTheyAreWithoutAShell) {
  const auto captured = capture({{"echo", "; rm -rf ~", "$(id)", "`id`", "'\""}, {}, false});
  ASSERT_TRUE(captured);
  EXPECT_EQ(captured->output, "; rm -rf ~ $(id) `id` '\"\n");
}

constexpr std::chrono::hours for_ever(1);

TEST(ProcessTest, OneThatTakesTooLongIsStoppedAlsoWhereItsStreamsAreClosed) {
  const Bounds bounds{std::chrono::seconds(5), MemoryGuard(std::nullopt)};
  for (const char* script : {"echo begun; sleep 1000", "echo begun; exec >&- 2>&-; sleep 1000"}) {
    const auto captured = capture({{"sh", "-c", script}, {}, false}, bounds);
    ASSERT_TRUE(captured);
    EXPECT_FALSE(captured->ok());
    EXPECT_TRUE(captured->late);
    EXPECT_THAT(captured->stopped, ::testing::HasSubstr("did not end within"));
    EXPECT_EQ(captured->output, "begun\n");
  }
}

TEST(ProcessTest, OneThatHoldsTooMuchIsStopped) {
  const Bounds bounds{for_ever, MemoryGuard(std::int64_t{1} << 16)};
  const auto captured = capture({{"sleep", "1000"}, {}, false}, bounds);
  ASSERT_TRUE(captured);
  EXPECT_FALSE(captured->ok());
  EXPECT_FALSE(captured->late);
  EXPECT_THAT(captured->stopped, ::testing::HasSubstr("host memory ran out"));
}

TEST(ProcessTest, OfOneWithBoundsTheLastThatItPrintsIsKept) {
  const Bounds bounds{for_ever, MemoryGuard(std::nullopt)};
  const auto captured =
      capture({{"sh", "-c", "head -c 3000000 /dev/zero; echo; echo end"}, {}, false}, bounds);
  ASSERT_TRUE(captured);
  EXPECT_TRUE(captured->ok());
  EXPECT_LE(captured->output.size(), 16384u);
  EXPECT_TRUE(captured->output.ends_with("\nend\n"));
}

TEST(ProcessTest, AddsToTheEnvironmentAndPassesInput) {
  auto process =
      Process::start({{"sh", "-c", "cat; echo $ASSAY_TEST"}, {{"ASSAY_TEST", "here"}}, true});
  ASSERT_TRUE(process);
  ASSERT_EQ(::write(process->input().number(), "in ", 3), 3);
  process->input().close();
  EXPECT_EQ(everything(process->output()), "in here\n");
}

TEST(ProcessTest, AProgramThatDoesNotExistIsAnErrorThatNamesIt) {
  const auto process = Process::start({{"no-such-program-anywhere"}, {}, false});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().text(), ::testing::HasSubstr("no-such-program-anywhere"));
}

TEST(ProcessTest, KillingItEndsItsChildrenToo) {
  auto process = Process::start({{"sh", "-c", "sleep 1000 & echo $!; wait"}, {}, false});
  ASSERT_TRUE(process);
  std::string text;
  while (text.find('\n') == std::string::npos && drain(process->output(), text)) {
  }
  // The grandchild holds the pipe too, so the pipe ends only after it.
  process->kill();
  everything(process->output());
  EXPECT_FALSE(process->started());
}

}  // namespace
}  // namespace assay::run
