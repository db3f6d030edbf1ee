#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leftovers.h"

namespace assay::faults {

struct End {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string output;
  std::string errors;
  double peak_mib = 0;        // of the program or the largest process it waited for
  std::size_t listeners = 0;  // sockets on which its processes were seen to listen
};

// A running assay, started as a user would. A variable in the environment marks all its processes;
// the destructor kills them.
class Host {
 public:
  struct Command {
    std::filesystem::path folder;  // where it runs; must outlive the object
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;  // added to the test's own
    std::vector<std::string> ahead;                  // words before the program: {"unshare", "-m"}
  };

  explicit Host(const Command& command);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool running();
  void send(int signal);
  // Returns once the program has read it, so that the same signal counts again.
  void send_and_see_taken(int signal);
  // Kills it and fails the test after the limit.
  End wait(double limit_s = 200);

  // Its output so far.
  std::string output() const;
  std::string errors() const;

  // Every marked process, including the program; those that serve cases.
  std::vector<pid_t> family() const;
  std::vector<pid_t> workers() const;
  // Waits until all marked processes, their files in /dev/shm and their listening sockets are gone;
  // returns what is left after the limit, in words.
  std::string left_behind(double limit_s = 30) const;

 private:
  bool reap(int options);
  void observe();

  std::filesystem::path log_;
  std::string mark_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  double peak_mib_ = 0;
  Leftovers leftovers_;
  std::chrono::steady_clock::time_point next_look_;
};

// Polls until the condition holds; false after the limit.
template <class Condition>
bool wait_until(double limit_s, Condition&& holds);

}  // namespace assay::faults

#include <thread>

template <class Condition>
bool assay::faults::wait_until(double limit_s, Condition&& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
