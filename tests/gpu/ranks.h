#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "meeting_place.h"

namespace assay::test {

// Ranks of a test are processes, as a worker's are: in one process an allocation on one GPU may
// wait for a kernel on the other, which waits for its peer. The test's own program is started for
// each rank, with the running test as its filter and its place in this variable.
inline constexpr const char* rank_variable = "ASSAY_TEST_RANK";
inline constexpr std::chrono::seconds ranks_limit{240};

class RankProcess {
 public:
  RankProcess(const worker::Placement& placement, int rank) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter =
        std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    const std::string place = std::string(rank_variable) + "=" + std::to_string(rank) + " " +
                              std::to_string(placement.rendezvous_port) + " " +
                              std::to_string(*placement.rendezvous_socket);
    std::vector<char*> variables;
    for (char** each = environ; *each != nullptr; ++each) variables.push_back(*each);
    variables.push_back(const_cast<char*>(place.c_str()));
    variables.push_back(nullptr);
    char program[] = "/proc/self/exe";
    std::array<char*, 3> arguments = {program, const_cast<char*>(filter.c_str()), nullptr};
    if (::posix_spawn(&pid_, program, nullptr, nullptr, arguments.data(), variables.data()) != 0) {
      throw std::runtime_error("a rank's process could not be started");
    }
    handle_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  }
  ~RankProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      await();
    }
    ::close(handle_);
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  int handle() const { return handle_; }
  // Its exit code, or minus the signal that ended it.
  int await() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int handle_ = -1;
};

// Calls `rank` in `count` processes; expects all of them to succeed in time. The first that fails
// ends the others.
inline void on_ranks_of_gpus(int count, const std::function<void(const worker::Placement&)>& rank) {
  if (const char* place = std::getenv(rank_variable)) {
    worker::Placement placement;
    placement.world_size = placement.local_world_size = count;
    int socket = -1;
    if (std::sscanf(place, "%d %d %d", &placement.rank, &placement.rendezvous_port, &socket) != 3) {
      throw std::invalid_argument(rank_variable);
    }
    placement.local_rank = placement.rank;
    if (placement.rank == 0) placement.rendezvous_socket = socket;
    rank(placement);
    return;
  }
  const worker::Placement placement = meeting_place(count);
  std::deque<RankProcess> ranks;
  for (int i = 0; i < count; ++i) ranks.emplace_back(placement, i);
  ::close(*placement.rendezvous_socket);
  const auto deadline = std::chrono::steady_clock::now() + ranks_limit;
  std::vector<pollfd> running;
  for (const RankProcess& each : ranks) running.push_back({each.handle(), POLLIN, 0});
  for (int ended = 0; ended < count; ++ended) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 ||
        ::poll(running.data(), running.size(), static_cast<int>(left.count())) <= 0) {
      FAIL() << "the ranks have not ended within " << ranks_limit.count() << " s";
    }
    const auto over = std::find_if(running.begin(), running.end(),
                                   [](const pollfd& each) { return each.revents != 0; });
    const auto index = static_cast<std::size_t>(over - running.begin());
    ASSERT_EQ(ranks[index].await(), 0) << "rank " << index;
    *over = {-1, 0, 0};
  }
}

}  // namespace assay::test
