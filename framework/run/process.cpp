#include "run/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace assay::run {

namespace {

struct Pipe {
  wire::Descriptor read;
  wire::Descriptor write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return Pipe{wire::Descriptor(ends[0]), wire::Descriptor(ends[1])};
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!added.contains(std::string(text.substr(0, text.find('='))))) merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

ProcessEnd from_status(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

}  // namespace

std::string ProcessEnd::text() const {
  return signalled ? fmt::format("signal {} ({})", number, ::strsignal(number))
                   : fmt::format("exit code {}", number);
}

Result<Process> Process::start(const Command& command) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  auto failure = make_pipe();  // carries errno when exec fails, closes when it succeeds
  if (!input || !output || !errors || !failure) {
    return fail(ExitCode::machine_lacks, "cannot make the pipes of a child process");
  }
  std::vector<std::string> words = command.arguments;
  std::vector<std::string> variables = merged_environment(command.environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  wire::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int stdin_source = command.standard_input ? input->read.number() : nothing.number();

  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    // Only calls that are safe after fork in a process with threads.
    ::setpgid(0, 0);
    if (command.dies_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(stdin_source, STDIN_FILENO);
    ::dup2(output->write.number(), STDOUT_FILENO);
    ::dup2(errors->write.number(), STDERR_FILENO);
    ::execvpe(argv[0], argv.data(), envp.data());
    const int reason = errno;
    static_cast<void>(!::write(failure->write.number(), &reason, sizeof reason));
    ::_exit(127);
  }
  ::setpgid(pid, pid);
  failure->write.close();
  int reason = 0;
  const bool failed = ::read(failure->read.number(), &reason, sizeof reason) == sizeof reason;
  if (failed) {
    ::waitpid(pid, nullptr, 0);
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot run '{}': {}", command.arguments[0], std::strerror(reason)));
  }
  Process process;
  process.pid_ = pid;
  if (command.standard_input) process.input_ = std::move(input->write);
  process.output_ = std::move(output->read);
  process.errors_ = std::move(errors->read);
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = std::exchange(other.pid_, -1);
  end_ = std::exchange(other.end_, std::nullopt);
  input_ = std::move(other.input_);
  output_ = std::move(other.output_);
  errors_ = std::move(other.errors_);
  return *this;
}

std::optional<ProcessEnd> Process::ended() {
  if (!end_ && pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) end_ = from_status(status);
  }
  return end_;
}

ProcessEnd Process::wait() {
  if (!end_ && pid_ > 0) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    end_ = from_status(status);
  }
  return end_.value_or(ProcessEnd{});
}

void Process::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  wait();
  pid_ = -1;
}

bool drain(wire::Descriptor& descriptor, std::string& text) {
  constexpr std::size_t most_bytes = 1 << 20;  // more than a pipe holds
  char buffer[16384];
  const std::size_t before = text.size();
  while (text.size() - before < most_bytes) {
    pollfd ready = {descriptor.number(), POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) return true;
    const ssize_t count = ::read(descriptor.number(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return true;
}

Result<Captured> capture(const Process::Command& command) {
  auto process = Process::start(command);
  if (!process) return tl::unexpected(process.error());
  Captured captured;
  bool output_open = true, errors_open = true;
  while (output_open || errors_open) {
    pollfd watched[] = {{output_open ? process->output().number() : -1, POLLIN, 0},
                        {errors_open ? process->errors().number() : -1, POLLIN, 0}};
    ::poll(watched, 2, -1);
    if (output_open) output_open = drain(process->output(), captured.output);
    if (errors_open) errors_open = drain(process->errors(), captured.errors);
  }
  captured.end = process->wait();
  return captured;
}

}  // namespace assay::run
