#include "run/interrupt.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace assay::run {

namespace {

sigset_t handled_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = wire::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Interrupt::~Interrupt() {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::update() {
  signalfd_siginfo info;
  while (::read(signals_.number(), &info, sizeof info) == sizeof info) ++count_;
}

}  // namespace assay::run
