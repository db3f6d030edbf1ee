#pragma once

#include <signal.h>

#include <functional>

#include "wire/channel.h"

namespace assay::run {

// Turns SIGINT, SIGTERM and SIGHUP into something an event loop can wait for, while it lives; what
// is written to a pipe nobody reads is an error then and no signal. Once: finish the current case.
// Twice: stop now.
class Interrupt {
 public:
  // first: called once, when the first signal is taken up.
  explicit Interrupt(std::function<void()> first = {});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int descriptor() const { return signals_.number(); }
  // Takes up what has arrived; call when the descriptor is readable, or at any time.
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

}  // namespace assay::run
