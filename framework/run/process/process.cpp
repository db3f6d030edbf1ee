#include "run/process/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/text.h"
#include "health/process_table.h"
#include "run/process/subreaper.h"

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

ProcessEnd process_end(const ChildEnd& end) {
  const std::int64_t peak_bytes = std::int64_t{end.peak_memory_kib} * 1024;
  if (WIFSIGNALED(end.wait_status)) return {true, WTERMSIG(end.wait_status), peak_bytes};
  return {false, WEXITSTATUS(end.wait_status), peak_bytes};
}

// Empty at the end of the stream. Repeats after EINTR.
template <class Word>
std::optional<Word> read_word(const wire::Descriptor& descriptor) {
  Word word;
  ssize_t count = 0;
  do {
    count = ::read(descriptor.number(), &word, sizeof word);
  } while (count < 0 && errno == EINTR);
  return count == sizeof word ? std::optional(word) : std::nullopt;
}

// Checks a process against its bounds.
class BoundsWatch {
 public:
  explicit BoundsWatch(const std::optional<Bounds>& bounds) : bounds_(bounds) {}

  std::optional<std::string> broken(pid_t subreaper) {
    if (!bounds_) return std::nullopt;
    const std::chrono::duration<double> left = begun_ + bounds_->time - Clock::now();
    late_ = left.count() <= 0;
    if (late_) {
      return "it did not end within " + human_duration(bounds_->time.count());
    }
    const MemoryGuard::Look look = bounds_->memory.look({subreaper});
    next_ms_ = static_cast<int>(std::min<double>(left.count() * 1000 + 1, look.next_ms));
    return look.stop;
  }
  bool late() const { return late_; }
  // When to check again; -1: never.
  int next_ms() const { return next_ms_; }

 private:
  using Clock = std::chrono::steady_clock;

  const std::optional<Bounds>& bounds_;
  Clock::time_point begun_ = Clock::now();
  int next_ms_ = -1;
  bool late_ = false;
};

}  // namespace

std::string ProcessEnd::text() const {
  if (!signalled) return fmt::format("exit code {}", number);
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {} ({})", number, ::strsignal(number))
                         : fmt::format("signal {} (SIG{}: {})", number, name, ::strsignal(number));
}

std::optional<std::string> ProcessEnd::out_of_memory(const std::string& who, bool by_system) const {
  if (!signalled || number != SIGKILL || !by_system) return std::nullopt;
  return fmt::format("host memory ran out: the system ended {} with SIGKILL; it held {} at most",
                     who, human_size(peak_memory_bytes));
}

Result<Process> Process::start(const Command& command) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  auto control = make_pipe();
  auto report = make_pipe();
  auto failure = make_pipe();  // carries errno when exec fails, closes when it succeeds
  if (!input || !output || !errors || !control || !report || !failure) {
    return fail(ExitCode::machine_lacks, "cannot make the pipes of a child process");
  }
  Process process;
  process.mark_ = random_token();
  std::vector<std::string> words = command.arguments;
  std::map<std::string, std::string> added = command.environment;
  added[family_variable] = process.mark_;
  std::vector<std::string> variables = merged_environment(added);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  wire::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const SubreaperTask task = {
      .control = control->read.number(),
      .report = report->write.number(),
      .failure = failure->write.number(),
      .input = command.standard_input ? input->read.number() : nothing.number(),
      .output = output->write.number(),
      .errors = errors->write.number(),
      .passed = command.passed,
      .arguments = argv.data(),
      .environment = envp.data()};

  const pid_t subreaper = ::fork();
  if (subreaper < 0) {
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (subreaper == 0) run_subreaper(task);
  process.subreaper_ = subreaper;
  process.control_ = std::move(control->write);
  process.report_ = std::move(report->read);
  report->write.close();
  failure->write.close();
  const auto reason = read_word<int>(failure->read);
  const auto begun = read_word<ChildStart>(process.report_);
  if (reason) {
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot run '{}': {}", command.arguments[0], std::strerror(*reason)));
  }
  if (!begun) {
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot run '{}': its subreaper was ended", command.arguments[0]));
  }
  process.pid_ = begun->pid;
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
  subreaper_ = std::exchange(other.subreaper_, -1);
  mark_ = std::move(other.mark_);
  end_ = std::exchange(other.end_, std::nullopt);
  control_ = std::move(other.control_);
  report_ = std::move(other.report_);
  input_ = std::move(other.input_);
  output_ = std::move(other.output_);
  errors_ = std::move(other.errors_);
  return *this;
}

void Process::take_end(int wait_ms) {
  if (end_ || !report_.open() || !readable(report_.number(), wait_ms)) return;
  if (const auto end = read_word<ChildEnd>(report_)) {
    end_ = process_end(*end);
    return;
  }
  // The subreaper was ended, and the system ended the process with it (PR_SET_PDEATHSIG).
  end_ = ProcessEnd{true, SIGKILL};
  end_family(mark_);
}

std::optional<ProcessEnd> Process::ended() {
  take_end(0);
  return end_;
}

bool Process::is_ending() const { return health::ProcessTable().is_ending(pid_); }

ProcessEnd Process::wait() {
  take_end(-1);
  return end_.value_or(ProcessEnd{});
}

void Process::kill() {
  constexpr int patience_ms = 30'000;
  if (subreaper_ <= 0) return;
  control_.close();
  take_end(patience_ms);
  // The pipe closes when the last process of the family is gone.
  const bool gone = readable(report_.number(), patience_ms);
  ::waitpid(subreaper_, nullptr, gone ? 0 : WNOHANG);
  report_.close();
  if (!end_) end_ = ProcessEnd{true, SIGKILL};
  subreaper_ = -1;
  pid_ = -1;
}

void Process::watch_streams(std::vector<pollfd>& watched) const {
  for (const wire::Descriptor* stream : {&output_, &errors_}) {
    if (stream->open()) watched.push_back({stream->number(), POLLIN, 0});
  }
}

void Process::read_streams(std::string& printed) {
  drain(output_, printed);
  drain(errors_, printed);
}

std::string random_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

bool readable(int descriptor, int wait_ms) {
  pollfd ready = {descriptor, POLLIN, 0};
  int count = 0;
  do {
    count = ::poll(&ready, 1, wait_ms);
  } while (count < 0 && errno == EINTR);
  return count > 0;
}

bool drain(wire::Descriptor& stream, std::string& text) {
  constexpr std::size_t most_bytes = 1 << 20;  // more than a pipe holds
  char buffer[16384];
  const std::size_t before = text.size();
  while (stream.open() && text.size() - before < most_bytes && readable(stream.number())) {
    const ssize_t count = ::read(stream.number(), buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) stream.close();
  }
  return stream.open();
}

void keep_tail(std::string& printed) {
  constexpr std::size_t kept_bytes = 8192;
  if (printed.size() > kept_bytes) printed.erase(0, printed.size() - kept_bytes);
}

Result<Captured> capture(const Process::Command& command, const std::optional<Bounds>& bounds) {
  auto process = Process::start(command);
  if (!process) return tl::unexpected(process.error());
  Captured captured;
  BoundsWatch watch(bounds);
  const auto read = [&] {
    drain(process->output(), captured.output);
    drain(process->errors(), captured.errors);
    if (!bounds) return;
    keep_tail(captured.output);
    keep_tail(captured.errors);
  };
  // A process may run on after it has closed its streams.
  while (process->output().open() || process->errors().open() || !process->ended()) {
    if (const auto broken = watch.broken(process->subreaper())) {
      captured.stopped = *broken;
      captured.late = watch.late();
      process->kill();
      read();
      break;
    }
    std::vector<pollfd> watched = {{process->end_descriptor(), POLLIN, 0}};
    process->watch_streams(watched);
    ::poll(watched.data(), watched.size(), watch.next_ms());
    read();
  }
  captured.end = process->wait();
  return captured;
}

}  // namespace assay::run
