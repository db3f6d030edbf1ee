#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::worker {

// The threads of this process beside the calling one, with the processor time of each in seconds.
using ThreadTimes = std::map<pid_t, double>;
ThreadTimes thread_times();
// Of this process's children, each with all of its threads.
ThreadTimes child_times();
// What the busiest thread has worked since `before`, newer ones included: pools turn on the spot
// with one thread a core.
double busiest_since_s(const ThreadTimes& before);

// Where glibc keeps, in its own description of a thread, what the thread was started with.
struct ThreadLayout {
  std::size_t id = 0;  // bytes from pthread_self()
  std::size_t routine = 0;
  std::size_t argument = 0;
  std::size_t below_end = 0;    // bytes from pthread_self() to the stack's end
  std::size_t stack_bytes = 0;  // of a stack of the default size, without its guard
};

// Tells the threads that a plugin's own code has started (std::thread, pthread_create) from those
// of LibTorch, OpenMP, Gloo and CUDA, which stay for the process's life. A thread whose start
// cannot be found counts as nobody's.
class PluginThreads {
 public:
  // files: the plugins' libraries.
  explicit PluginThreads(const std::vector<std::string>& files);

  // Those among `threads`: which are looked at costs a millisecond, so give new ones alone.
  std::vector<pid_t> among(const ThreadTimes& threads) const;

 private:
  std::vector<std::string> files_;
  std::optional<ThreadLayout> layout_;
};

}  // namespace assay::worker
