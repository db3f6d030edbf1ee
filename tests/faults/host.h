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

// How an assay ended and what it said.
struct End {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string output;
  std::string errors;
  double peak_mib = 0;        // of the program or of the largest process it waited for
  std::size_t listeners = 0;  // sockets on which one of its processes was seen to listen
};

// An assay that is running, as a user would start it, with every process that comes of it marked in
// its environment. All of them are killed when the object goes.
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
  // Returns when the program has taken it up, so that the same signal can be sent again and counts.
  void send_and_see_taken(int signal);
  // Kills it, with a failure of the test, when it takes longer.
  End wait(double limit_s = 200);

  // What it has printed so far.
  std::string output() const;
  std::string errors() const;

  // Every process that carries the mark, the program itself included; those of them that serve
  // cases.
  std::vector<pid_t> family() const;
  std::vector<pid_t> workers() const;
  // Waits until no process with the mark is left, and nothing of what the processes held in
  // /dev/shm and listened on; what is left after the limit, in words.
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

// Polls until the condition holds; false when the time is up.
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
