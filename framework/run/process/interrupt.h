#pragma once

#include <signal.h>

#include <functional>
#include <string>

#include "wire/channel.h"

namespace assay::run {

// Makes SIGINT, SIGTERM and SIGHUP readable for an event loop while it lives, and turns SIGPIPE
// into a write error. First signal: finish the current case. Second: stop now.
class Interrupt {
 public:
  // first: called once, at the first signal.
  explicit Interrupt(std::function<void()> first = {});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int descriptor() const { return signals_.number(); }
  // Counts the signals that have arrived; never blocks.
  void update();
  bool finish_case() const { return count_ >= 1; }
  bool stop_now() const { return count_ >= 2; }

 private:
  sigset_t mask_before_;
  struct sigaction pipe_before_;
  wire::Descriptor signals_;
  std::function<void()> first_;
  int count_ = 0;
};

// The error of work that the user has stopped: "stopped by the user while the ranks arrived".
tl::unexpected<Error> stopped_by_user(const std::string& meanwhile);
bool is_stopped_by_user(const Error& error);

}  // namespace assay::run
