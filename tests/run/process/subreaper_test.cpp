// All descendants of a process end with it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "run/process/process.h"

namespace assay::run {
namespace {

// A pipe that ends when the last process that holds its other end is gone.
class Thread {
 public:
  Thread() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    held_ = wire::Descriptor(ends[1]);
    watched_ = wire::Descriptor(ends[0]);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  }
  int held() const { return held_.number(); }
  void let_go() { held_.close(); }
  bool all_are_gone() const {
    pollfd ready = {watched_.number(), POLLIN, 0};
    return ::poll(&ready, 1, 20'000) == 1 && (ready.revents & POLLHUP) != 0;
  }

 private:
  wire::Descriptor held_;
  wire::Descriptor watched_;
};

// A shell command that leaves a daemon in its own session; the daemon holds the thread's end.
std::string leaving_a_daemon(const std::string& then) {
  return "setsid sh -c 'echo there; exec sleep 1000' & " + then;
}

Process start(const Thread& thread, const std::string& script) {
  auto process = Process::start(
      {.arguments = {"sh", "-c", script}, .standard_input = true, .passed = {thread.held()}});
  if (!process) throw std::runtime_error(process.error().text());
  return std::move(*process);
}

void wait_for_the_daemon(Process& process) {
  std::string text;
  while (text.find("there") == std::string::npos && drain(process.output(), text)) {
  }
}

TEST(KeeperTest, ADaemonEndsWhenItsStarterIsKilled) {
  Thread thread;
  Process process = start(thread, leaving_a_daemon("exec sleep 1000"));
  thread.let_go();
  wait_for_the_daemon(process);
  process.kill();
  EXPECT_TRUE(thread.all_are_gone());
}

TEST(KeeperTest, ADaemonEndsWhenItsStarterEnds) {
  Thread thread;
  Process process = start(thread, leaving_a_daemon("exit 3"));
  thread.let_go();
  EXPECT_EQ(process.wait().text(), "exit code 3");
  EXPECT_TRUE(thread.all_are_gone());
}

TEST(KeeperTest, EverythingEndsWhenTheHostIsKilled) {
  Thread thread;
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    Process process = start(thread, leaving_a_daemon("exec sleep 1000"));
    wait_for_the_daemon(process);
    ::raise(SIGKILL);
  }
  thread.let_go();
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(thread.all_are_gone());
}

TEST(KeeperTest, EverythingEndsWhenTheKeeperIsKilled) {
  Thread thread;
  Process process =
      start(thread, leaving_a_daemon("read -r go; kill -KILL $PPID; exec sleep 1000"));
  thread.let_go();
  ASSERT_EQ(::write(process.input().number(), "\n", 1), 1) << "the subreaper has told of its start";
  EXPECT_TRUE(process.wait().signalled);
  process.kill();
  EXPECT_TRUE(thread.all_are_gone());
}

TEST(KeeperTest, ItsEndCanBeWaitedForAmongOtherThings) {
  auto process = Process::start({.arguments = {"sh", "-c", "exit 7"}});
  ASSERT_TRUE(process);
  pollfd ended = {process->end_descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 20'000), 1);
  ASSERT_TRUE(process->ended());
  EXPECT_EQ(process->ended()->number, 7);
  EXPECT_EQ(process->end_descriptor(), -1);
}

TEST(KeeperTest, TellsTheMostMemoryThatWasHeld) {
  auto process = Process::start(
      {.arguments = {"sh", "-c", "head -c 100000000 /dev/zero | tail -c 100000000 > /dev/null"}});
  ASSERT_TRUE(process);
  EXPECT_GT(process->wait().peak_memory_bytes, 100'000'000);
}

}  // namespace
}  // namespace assay::run
