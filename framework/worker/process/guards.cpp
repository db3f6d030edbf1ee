#include "worker/process/guards.h"

#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

namespace assay::worker {

namespace {

// Globals, since signal handlers and forked children get no argument.
std::atomic<wire::StatusPage*> page = nullptr;
std::atomic<c10d::Backend*> group = nullptr;
std::atomic<int> channel = -1;
std::atomic<int> null_device = -1;          // /dev/null
std::atomic<int> traces = -1;               // where a fault's calls are written; -1: nowhere
std::atomic<std::uintptr_t> stack_low = 0;  // of the main thread, at its largest

// Text in the page's bytes; a handler must not allocate.
class Cause {
 public:
  explicit Cause(char* text) : text_(text) {}
  ~Cause() { text_[length_] = '\0'; }
  Cause& add(const char* words) {
    while (*words != '\0' && length_ + 1 < wire::StatusPage::cause_bytes)
      text_[length_++] = *words++;
    return *this;
  }
  Cause& add_number(std::uintptr_t number, unsigned base) {
    char digits[24];
    std::size_t count = sizeof digits;
    digits[--count] = '\0';
    do {
      digits[--count] = "0123456789abcdef"[number % base];
    } while ((number /= base) != 0);
    return add(digits + count);
  }

 private:
  char* text_;
  std::size_t length_ = 0;
};

// Loads what backtrace() needs, which a handler must not.
void prepare_traces(int descriptor) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  traces = descriptor;
}

void leave_trace() {
  if (traces < 0) return;
  constexpr int most = 32;
  void* frames[most];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, most), traces);
}

// Of the faults that have no cause beside their name.
void trace_fault(int signal, siginfo_t* info, void*) {
  ::signal(signal, SIG_DFL);
  leave_trace();
  if (info->si_code <= 0) ::raise(signal);
}

void explain_fault(int signal, siginfo_t* info, void*) {
  // The fault repeats unhandled and ends the process.
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) {  // sent by a process: must be raised again
    leave_trace();
    ::raise(signal);
    return;
  }
  wire::StatusPage* const shared = page;
  if (shared == nullptr) return leave_trace();
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const std::uintptr_t low = stack_low;
  // The kernel keeps a gap of 1 MiB below a stack; a large frame may step past its start.
  const bool in_the_gap = low != 0 && address < low + 65536 && address + (2u << 20) > low;
  {
    Cause cause(shared->cause);
    if (in_the_gap) {
      cause.add("the stack overflowed");
    } else if (info->si_code == SEGV_MAPERR) {
      cause.add("there is no memory at address 0x").add_number(address, 16);
    } else if (info->si_code == SI_KERNEL) {
      cause.add("the address was none that memory can have");  // the processor does not report it
    } else {
      cause.add("the memory at address 0x").add_number(address, 16);
      cause.add(" may not be used so; it may be for reading alone");
    }
  }
  leave_trace();
}

void answer(int) {
  const int before = errno;
  wire::StatusPage* const shared = page;
  c10d::Backend* const counted = group;
  if (shared == nullptr) return;
  const std::uint32_t question = shared->asked;
  shared->collectives =
      counted == nullptr ? 0 : static_cast<std::int64_t>(counted->getSequenceNumberForGroup());
  shared->answered = question;
  errno = before;
}

std::mutex noting;

void lose_the_connection() {
  if (channel >= 0 && null_device >= 0) ::dup2(null_device, channel);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(signal, &action, nullptr);
}

void handle_on_a_stack_of_its_own() {
  static char memory[64 << 10];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  ::sigaltstack(&stack, nullptr);
}

std::uintptr_t lowest_stack_address() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  void* low = nullptr;
  std::size_t size = 0;
  ::pthread_attr_getstack(&attributes, &low, &size);
  ::pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(low);
}

// nullptr: the system decides what the signal does.
const void* handler_of(int signal) {
  struct sigaction action = {};
  if (::sigaction(signal, nullptr, &action) != 0) return nullptr;
  if ((action.sa_flags & SA_SIGINFO) != 0) return reinterpret_cast<void*>(action.sa_sigaction);
  const bool decided = action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
  return decided ? nullptr : reinterpret_cast<void*>(action.sa_handler);
}

}  // namespace

Guards::Guards(const wire::Channel& host) : Guards(host.descriptor(), -1) {}

Guards Guards::tracing(int traces) { return Guards(-1, traces); }

Guards::Guards(int host, int traces_file) : status_(wire::SharedStatus::from_environment()) {
  // Ends this worker when its subreaper dies.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);

  page = status_.page();
  channel = host;
  null_device = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  stack_low = lowest_stack_address();
  handle_on_a_stack_of_its_own();
  handle(SIGSEGV, explain_fault);
  if (traces_file >= 0) {
    prepare_traces(traces_file);
    for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGABRT}) handle(fault, trace_fault);
  }
  struct sigaction asked = {};
  asked.sa_handler = answer;
  asked.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(wire::question_signal(), &asked, nullptr);
  ::pthread_atfork(nullptr, nullptr, lose_the_connection);
}

Guards::~Guards() {
  page = nullptr;
  channel = -1;
  traces = -1;
}

void Guards::note_collective(std::string_view words) {
  const std::lock_guard lock(noting);
  if (wire::StatusPage* const shared = page) shared->notes.add(words);
}

void Guards::watch(c10d::Backend* watched) {
  group = watched;
  const std::lock_guard lock(noting);
  if (wire::StatusPage* const shared = page) shared->notes.clear();
}

SignalHandlers::SignalHandlers() {
  for (int signal = 0; signal <= SIGRTMAX; ++signal) handlers_.push_back(handler_of(signal));
}

std::string SignalHandlers::newcomer() const {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const void* const now = handler_of(signal);
    if (now == nullptr || now == handlers_[static_cast<std::size_t>(signal)]) continue;
    const char* const name = ::sigabbrev_np(signal);
    return name != nullptr ? fmt::format("a handler of SIG{}", name)
                           : fmt::format("a handler of signal {}", signal);
  }
  std::error_code gone;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
    std::error_code closed;
    const auto target = std::filesystem::read_symlink(file.path(), closed);
    if (!closed && target == "anon_inode:[userfaultfd]") return "a userfaultfd";
  }
  return {};
}

bool descendants_are_left() {
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
  }
  return ended == 0;
}

}  // namespace assay::worker
