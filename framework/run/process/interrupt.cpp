#include "run/process/interrupt.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace assay::run {

namespace {

// Whether the program was started to run on without its terminal, as `nohup` does.
bool outlives_its_terminal() {
  struct sigaction current = {};
  ::sigaction(SIGHUP, nullptr, &current);
  return current.sa_handler == SIG_IGN;
}

sigset_t handled_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  if (!outlives_its_terminal()) ::sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> first) : first_(std::move(first)) {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &pipe_before_);
  signals_ = wire::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Drops pending signals: they were meant for the work that ends here.
Interrupt::~Interrupt() {
  first_ = nullptr;
  update();
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
}

void Interrupt::update() {
  signalfd_siginfo info;
  while (::read(signals_.number(), &info, sizeof info) == sizeof info) {
    if (++count_ == 1 && first_) first_();
  }
}

tl::unexpected<Error> stopped_by_user(const std::string& meanwhile) {
  return fail(ExitCode::some_case_not_ok, "stopped by the user while " + meanwhile);
}

// No worker's or rank's failure to start has this exit code.
bool is_stopped_by_user(const Error& error) {
  return error.exit_code == ExitCode::some_case_not_ok;
}

}  // namespace assay::run
