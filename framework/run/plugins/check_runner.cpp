#include "run/plugins/check_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "run/plugins/fault_calls.h"
#include "run/process/process.h"
#include "run/process/temporary_folder.h"
#include "run/workers/worker.h"
#include "wire/messages.h"
#include "wire/status_page.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

// Loading LibTorch and the plugin, before the first case.
constexpr double start_limit_s = 120;

class Fifo {
 public:
  Fifo() {
    problem_ = folder_.problem();
    if (!problem_.empty()) return;
    if (::mkfifo(path().c_str(), 0600) == 0) {
      reader_ = wire::Descriptor(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    }
    if (!reader_.open()) problem_ = fmt::format("cannot make {}: {}", path(), std::strerror(errno));
  }

  std::string path() const { return (folder_.path() / "messages").string(); }
  wire::Descriptor& reader() { return reader_; }
  const std::string& problem() const { return problem_; }  // "" where it exists

 private:
  const TemporaryFolder folder_{"check"};
  wire::Descriptor reader_;
  std::string problem_;
};

class CheckedWorker {
 public:
  CheckedWorker(const wire::CheckRequest& request, double case_limit_s,
                const CheckListener& listener)
      : request_(request), case_limit_s_(case_limit_s), listener_(listener) {}

  // How many checks of the suite are finished; empty where none is left.
  Result<std::optional<std::size_t>> run(const Installation& installation, bool first) {
    Fifo fifo;
    if (!fifo.problem().empty()) return fail(ExitCode::machine_lacks, fifo.problem());
    Process::Command command;
    command.arguments = {installation.executable.string(), "worker", "check", fifo.path(),
                         dump(wire::to_json(request_))};
    auto status = wire::SharedStatus::make();
    if (!status) return tl::unexpected(status.error());
    command.passed.push_back(status->descriptor());
    command.environment[wire::status_variable] = std::to_string(status->descriptor());
    auto process = Process::start(command);
    if (!process) return tl::unexpected(process.error());
    announce_suite_ = first;
    last_message_ = Clock::now();
    while (!process->ended() && !timed_out() && !error_) wait_and_read(*process, fifo);
    const bool late = !process->ended() && !error_;
    if (late || error_) process->kill();
    read(*process, fifo);
    if (error_) return tl::unexpected(*error_);
    cause_ = status->cause();
    return conclude(late ? std::nullopt : std::optional(process->wait()));
  }

  // The checks left when the worker ended in the middle of one.
  const std::vector<std::string>& left() const { return left_; }

 private:
  bool timed_out() const {
    return std::chrono::duration<double>(Clock::now() - last_message_).count() > limit_s();
  }
  double limit_s() const { return begun_ ? case_limit_s_ : std::max(case_limit_s_, start_limit_s); }

  void wait_and_read(Process& process, Fifo& fifo) {
    std::vector<pollfd> watched = {{fifo.reader().number(), POLLIN, 0},
                                   {process.end_descriptor(), POLLIN, 0}};
    process.watch_streams(watched);
    ::poll(watched.data(), watched.size(), 100);
    read(process, fifo);
  }

  void read(Process& process, Fifo& fifo) {
    process.read_streams(printed_);
    keep_tail(printed_);
    drain(fifo.reader(), received_);
    for (std::size_t end; (end = received_.find('\n')) != std::string::npos;) {
      const std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      const bool message = line.starts_with('{');
      if (!message) trace_.push_back(line);
      if (message && !error_) take(line);
    }
  }

  void take(const std::string& line) {
    last_message_ = Clock::now();
    const auto message = parse_json(line);
    if (!message) return note(message.error());
    const std::string type = wire::message_type(*message);
    if (type == "check_suite") {
      take_suite(wire::check_suite_from_json(*message));
    } else if (type == "check_begins") {
      const auto begins = wire::check_begins_from_json(*message);
      if (!begins) return note(begins.error());
      begun_ = *begins;
      listener_.begins(*begins);
    } else if (type == "check_result") {
      const auto result = wire::check_result_from_json(*message);
      if (!result) return note(result.error());
      begun_.reset();
      finished_ = result->check;
      listener_.result(*result);
    }
  }

  void take_suite(const Result<wire::CheckSuite>& suite) {
    if (!suite) return note(suite.error());
    for (const auto& title : suite->checks) names_.push_back(title.name);
    for (const std::string& wanted : request_.checks) {
      if (std::find(names_.begin(), names_.end(), wanted) != names_.end()) continue;
      return note({ExitCode::bad_input,
                   {{{},
                     fmt::format("the kind {} has no check '{}'{}", request_.kind, wanted,
                                 suggestion(wanted, names_)),
                     {}}}});
    }
    if (announce_suite_) listener_.suite(*suite);
  }

  void note(const Error& error) {
    if (!error_) error_ = error;
  }

  // end: empty where the time was up.
  Result<std::optional<std::size_t>> conclude(const std::optional<ProcessEnd>& end) {
    if (!begun_ && end && !end->signalled && end->number == 0) return std::optional<std::size_t>();
    const std::string words(trim(printed_));
    if (!begun_ && finished_.empty()) {
      const auto code = end && !end->signalled && end->number <= 4
                            ? static_cast<ExitCode>(end->number)
                            : ExitCode::machine_lacks;
      return fail(code, !words.empty() ? words
                        : end          ? "the worker ended with " + end->text()
                                       : "the worker did not start in time");
    }
    wire::CheckResult result;
    result.check = begun_ ? begun_->check : finished_;
    result.failed = 1;
    result.smallest = begun_ ? begun_->text : "after its last case";
    result.complaint = end ? "the worker ended with " + end->text()
                           : "it did not finish within " + human_duration(limit_s());
    if (end && !cause_.empty()) result.complaint += ", " + printable(cause_);
    if (!words.empty()) result.complaint += "; it said: " + last_line(words);
    listener_.ended(result,
                    {end ? end->text() : "", calls_of_fault(trace_, request_.plugin_files)});
    const auto place = std::find(names_.begin(), names_.end(), result.check) - names_.begin();
    // The first check makes the plugin; without it no other can run.
    if (place == 0) return std::optional<std::size_t>();
    left_ = rest_after(result.check);
    return std::optional(static_cast<std::size_t>(place) + 1);
  }

  // The checks that are asked for and come behind this one.
  std::vector<std::string> rest_after(const std::string& check) const {
    std::vector<std::string> rest;
    for (auto name = std::ranges::find(names_, check); name != names_.end(); ++name) {
      const bool asked = request_.checks.empty() || std::ranges::count(request_.checks, *name) > 0;
      if (*name != check && asked) rest.push_back(*name);
    }
    return rest;
  }

  static std::string last_line(const std::string& words) {
    const std::size_t start = words.rfind('\n');
    return start == std::string::npos ? words : words.substr(start + 1);
  }

  const wire::CheckRequest& request_;
  double case_limit_s_;
  const CheckListener& listener_;
  bool announce_suite_ = false;
  Clock::time_point last_message_;
  std::string received_;            // from the FIFO: the beginning of a line
  std::string printed_;             // the end of its standard output and error
  std::vector<std::string> trace_;  // of a fault, as the worker wrote it
  std::string cause_;               // of a fault
  std::vector<std::string> names_;
  std::vector<std::string> left_;
  std::optional<wire::CheckBegins> begun_;  // the case that runs
  std::string finished_;                    // the last check that has a result
  std::optional<Error> error_;
};

}  // namespace

Result<void> run_checks(const Installation& installation, wire::CheckRequest request,
                        double case_limit_s, std::size_t most_ends, const CheckListener& listener) {
  bool first = true;
  for (std::size_t ends = 1;; ++ends) {
    CheckedWorker worker(request, case_limit_s, listener);
    const auto behind = worker.run(installation, first);
    if (!behind) return tl::unexpected(behind.error());
    if (!*behind || worker.left().empty()) return {};
    if (ends >= most_ends) {
      listener.left(worker.left());
      return {};
    }
    request.skip = **behind;
    first = false;
  }
}

}  // namespace assay::run
