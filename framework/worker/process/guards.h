#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "wire/channel.h"
#include "wire/status_page.h"

namespace assay::worker {

// Protects a worker process and tells its host why it ends. One a process, for its life: signals
// and forks reach global state.
//  - A segmentation fault leaves its cause in the status page: the address, or a stack overflow of
//    the main thread. Any fault leaves the calls that led there in the file for traces.
//  - Questions of the host are answered there, whatever the main thread does.
//  - A child that a plugin forks has no connection to the host.
//  - Nothing dumps core; orphaned descendants become this process's children.
class Guards {
 public:
  explicit Guards(const wire::Channel& channel);
  // Of a worker without a connection; `traces` is a descriptor that the calls are written to, a
  // line each as of backtrace_symbols_fd(). It stays open.
  static Guards tracing(int traces);
  ~Guards();
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  // A case begins: the group whose collectives are counted, nullptr for none. It must live until
  // the next call.
  static void watch(c10d::Backend* group);
  // Leaves a collective of the case's group in the status page, in words.
  static void note_collective(std::string_view words);

 private:
  Guards(int host, int traces);

  wire::SharedStatus status_;
};

// What this process does with its signals. Taken once the process is guarded, before a plugin's
// library is loaded.
class SignalHandlers {
 public:
  SignalHandlers();
  // Who has come since and would work unheard by a clock, when memory that may not be used is read
  // or a timer runs out, for people: "a handler of SIGSEGV"; "" for nobody.
  std::string newcomer() const;

 private:
  std::vector<const void*> handlers_;  // by signal; nullptr where the system decides
};

// Whether processes started by this one or a plugin still run. Reaps those that have ended.
bool descendants_are_left();

}  // namespace assay::worker
