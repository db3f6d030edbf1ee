#include "run/process/subreaper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace assay::run {

namespace {

constexpr unsigned close_range_on_exec = 4;  // CLOSE_RANGE_CLOEXEC, Linux 5.11

// The program's side of the fork; returns only when it cannot be run.
void become_program(const SubreaperTask& task, pid_t subreaper) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != subreaper) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(task.input, STDIN_FILENO);
  ::dup2(task.output, STDOUT_FILENO);
  ::dup2(task.errors, STDERR_FILENO);
  // What the host has open stays the host's, whoever opened it.
  constexpr unsigned first_other = 3;
  ::syscall(SYS_close_range, first_other, UINT32_MAX, close_range_on_exec);
  for (const int descriptor : task.passed) ::fcntl(descriptor, F_SETFD, 0);
  ::execvpe(task.arguments[0], task.arguments, task.environment);
  const int reason = errno;
  static_cast<void>(!::write(task.failure, &reason, sizeof reason));
  ::_exit(127);
}

void close_range(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0) return;
  for (unsigned number = first; number <= last && number < 65536; ++number) {
    ::close(static_cast<int>(number));
  }
}

// A pipe that the subreaper held open would never end for its reader.
void close_all_but(int first, int second, int third) {
  int kept[] = {first, second, third};
  std::sort(kept, kept + 3);
  unsigned from = 0;
  for (const int number : kept) {
    if (number > 0) close_range(from, static_cast<unsigned>(number) - 1);
    from = static_cast<unsigned>(number) + 1;
  }
  close_range(from, UINT32_MAX);
}

// The parent's id in the text of /proc/<pid>/stat: "pid (name) state parent …", where the name may
// hold anything.
pid_t parent_in(const char* stat) {
  const char* name_end = std::strrchr(stat, ')');
  if (name_end == nullptr || std::strlen(name_end) < 4) return 0;
  return static_cast<pid_t>(std::strtol(name_end + 4, nullptr, 10));
}

pid_t parent_of(const char* process, int proc) {
  char path[64];
  if (std::strlen(process) > 20) return 0;
  std::strcpy(path, process);
  std::strcat(path, "/stat");
  const int file = ::openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const ssize_t count = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (count <= 0) return 0;
  text[count] = '\0';
  return parent_in(text);
}

struct DirectoryEntry {  // as getdents64 fills it
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[];
};

void kill_children() {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return;
  const pid_t self = ::getpid();
  alignas(8) char buffer[8192];
  for (long count; (count = ::syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0;) {
    for (long place = 0; place < count;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + place);
      place += entry->size;
      if (entry->name[0] < '1' || entry->name[0] > '9') continue;
      if (parent_of(entry->name, proc) != self) continue;
      ::kill(static_cast<pid_t>(std::strtol(entry->name, nullptr, 10)), SIGKILL);
    }
  }
  ::close(proc);
}

class Subreaper {
 public:
  Subreaper(pid_t child, int report) : child_(child), report_(report) {}

  // False once the program has ended.
  bool reap(int options) {
    int status = 0;
    rusage usage = {};
    pid_t pid = 0;
    while ((pid = ::wait4(-1, &status, options, &usage)) > 0) {
      if (pid == child_) report_end(status, usage.ru_maxrss);
      options |= WNOHANG;
    }
    has_children_ = pid == 0 || errno != ECHILD;
    return child_ > 0;
  }

  void end_all() {
    if (child_ > 0) ::kill(-child_, SIGKILL);
    if (child_ > 0) ::kill(child_, SIGKILL);
    // The children of each round's dead become children of this process.
    for (reap(WNOHANG); has_children_; reap(0)) kill_children();
  }

 private:
  void report_end(int status, long peak_memory_kib) {
    const ChildEnd end = {status, peak_memory_kib};
    static_cast<void>(!::write(report_, &end, sizeof end));
    child_ = 0;
  }

  pid_t child_;
  int report_;
  bool has_children_ = true;
};

}  // namespace

void run_subreaper(const SubreaperTask& task) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "assay-subreaper");
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGCHLD);
  const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);

  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    const int reason = errno;
    static_cast<void>(!::write(task.failure, &reason, sizeof reason));
    ::_exit(127);
  }
  if (child == 0) become_program(task, self);
  ::setpgid(child, child);
  close_all_but(task.control, task.report, signals);
  const ChildStart start = {child};
  static_cast<void>(!::write(task.report, &start, sizeof start));

  Subreaper subreaper(child, task.report);
  pollfd watched[] = {{task.control, POLLIN, 0}, {signals, POLLIN, 0}};
  while (subreaper.reap(WNOHANG)) {
    ::poll(watched, 2, -1);
    if (watched[0].revents != 0) break;
    signalfd_siginfo taken;
    while (::read(signals, &taken, sizeof taken) == sizeof taken) {
    }
  }
  subreaper.end_all();
  ::_exit(0);
}

namespace {

// Returns how many processes with the mark it killed.
int kill_family(const std::string& mark) {
  const std::string wanted = std::string(family_variable) + "=" + mark;
  std::error_code ignored;
  int killed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path() / "environ", std::ios::binary).rdbuf();
    const std::string variables = '\0' + text.str() + '\0';
    if (variables.find('\0' + wanted + '\0') == std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (pid != ::getpid() && ::kill(pid, SIGKILL) == 0) ++killed;
  }
  return killed;
}

}  // namespace

void end_family(const std::string& mark) {
  // A process within exec has no environment for a moment: one look may miss it.
  constexpr int most_looks = 100;
  for (int looks = 0, quiet = 0; quiet < 2 && looks < most_looks; ++looks) {
    quiet = kill_family(mark) == 0 ? quiet + 1 : 0;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace assay::run
