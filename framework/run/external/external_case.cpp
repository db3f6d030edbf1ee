#include "run/external/external_case.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/clock_duration.h"
#include "base/text.h"
#include "run/external/external_answers.h"
#include "run/workers/host_memory.h"
#include "run/workers/worker.h"
#include "store/records/json.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;
// What is there, up to a pipe's worth, without blocking; closes the stream at its end. Nothing when
// nothing was there.
std::string read_some(wire::Descriptor& stream) {
  pollfd ready = {stream.number(), POLLIN, 0};
  if (!stream.open() || ::poll(&ready, 1, 0) <= 0) return {};
  char buffer[65536];
  const ssize_t count = ::read(stream.number(), buffer, sizeof buffer);
  if (count == 0 || (count < 0 && errno != EINTR)) stream.close();
  return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : std::string();
}

}  // namespace

class ExternalProgram::Talk {
 public:
  Talk(const ResolvedCase& resolved, const std::filesystem::path& modules,
       const std::filesystem::path& folder, bool takes_turns)
      : case_(resolved),
        modules_(modules),
        folder_(folder),
        takes_turns_(takes_turns),
        answers_(resolved, folder, takes_turns) {}

  void begin() {
    Process::Command command;
    command.arguments = words();
    command.environment["PYTHONPATH"] = python_path();
    command.environment["ASSAY_PROTOCOL"] = "1";
    command.standard_input = true;
    kills_.begin();
    auto process = Process::start(command);
    if (!process) return answers_.cut_short(Outcome::unsupported, process.error().text());
    process_ = std::move(*process);
    send_case();
  }

  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const Doing& doing) {
    const auto begun = Clock::now();
    if (process_.started()) follow(interrupt, doing);
    worked_s_ += std::chrono::duration<double>(Clock::now() - begun).count();
    return answers_.wanted();
  }

  void give(const wire::Turn& turn) {
    answers_.given(turn);
    send({{"turn", {{"samples", turn.samples}, {"after_others", turn.after_others}}}});
  }

  ExternalEnd end() { return answers_.conclude(errors_); }

 private:
  std::vector<std::string> words() const {
    std::vector<std::string> words = case_.external->command;
    const char* python = std::getenv("ASSAY_PYTHON");
    if (words.front() == "python3" && python != nullptr && *python != '\0') words.front() = python;
    return words;
  }

  std::string python_path() const {
    const char* own = std::getenv("PYTHONPATH");
    return own == nullptr || *own == '\0' ? modules_.string()
                                          : fmt::format("{}:{}", modules_.string(), own);
  }

  void send_case() {
    nlohmann::json presets = nlohmann::json::object();
    for (const auto& [name, fields] : case_.request.presets) presets[name] = store::to_json(fields);
    nlohmann::json message = {{"protocol", 1},
                              {"variant", case_.external->name},
                              {"parameters", store::to_json(case_.request.parameters)},
                              {"presets", std::move(presets)},
                              {"passes", case_.request.passes}};
    if (!folder_.empty()) message["exchange"]["folder"] = folder_.string();
    if (takes_turns_) message["turns"] = true;
    send(message);
    if (!takes_turns_) process_.input().close();
  }

  // What is sent is far smaller than a pipe's buffer, which is empty: a program that has not read
  // what it was sent before is sent nothing more. One that has ended shows as it is followed.
  void send(const nlohmann::json& message) {
    if (leaves_unread()) {
      return answers_.break_off("the program does not read the turns that it asks for");
    }
    const std::string text = message.dump() + "\n";
    static_cast<void>(!::write(process_.input().number(), text.data(), text.size()));
  }

  bool leaves_unread() {
    int bytes = 0;
    return ::ioctl(process_.input().number(), FIONREAD, &bytes) == 0 && bytes > 0;
  }

  // Until the program waits for its turn, or has ended and what it printed has been read. A process
  // that it has started may hold a pipe for longer; that is not waited for.
  void follow(Interrupt& interrupt, const Doing& doing) {
    const auto limit = Clock::now() + clock_duration(case_.time_limit_s - worked_s_);
    doing("external");
    while (!process_.ended()) {
      wait_for_output(interrupt, doing);
      interrupt.update();
      if (stopped(interrupt, limit)) return stop();
      if (answers_.wanted()) return;
    }
    const ProcessEnd how = process_.wait();
    process_.kill();  // what it has started and left behind
    while (read_output(doing) && !answers_.hopeless()) {
    }
    answers_.waits_no_longer();
    if (takes_turns_ && leaves_unread()) answers_.last_turn_was_not_read();
    if (how.signalled || how.number != 0) tell_of_crash(how);
  }

  // Whether it must not go on; the answers then say why.
  bool stopped(const Interrupt& interrupt, Clock::time_point limit) {
    if (interrupt.stop_now()) {
      answers_.interrupted();
      return true;
    }
    if (answers_.hopeless() || fills_the_memory()) return true;
    if (Clock::now() <= limit) return false;
    answers_.cut_short(Outcome::timeout, fmt::format("the case did not finish within {}",
                                                     human_duration(case_.time_limit_s)));
    return true;
  }

  void stop() {
    answers_.waits_no_longer();
    process_.kill();
  }

  void tell_of_crash(const ProcessEnd& how) {
    if (how.signalled && how.number == SIGKILL && kills_.any()) {
      return answers_.cut_short(
          Outcome::oom, fmt::format("host memory ran out: the system ended the program with "
                                    "SIGKILL; it held {} at most",
                                    human_size(how.peak_memory_bytes)));
    }
    const auto lines = split(std::string(trim(errors_)), '\n');
    const std::string last = lines.empty() ? "" : printable(lines.back());
    answers_.cut_short(Outcome::crashed, fmt::format("the program ended with {}{}{}", how.text(),
                                                     last.empty() ? "" : ": ", last));
  }

  bool fills_the_memory() {
    const auto now = Clock::now();
    if (now < next_look_) return false;
    const MemoryGuard::Look look = memory_guard_.look({process_.subreaper()});
    next_look_ = now + std::chrono::milliseconds(look.next_ms);
    if (look.stop) answers_.cut_short(Outcome::oom, *look.stop);
    return look.stop.has_value();
  }

  void wait_for_output(const Interrupt& interrupt, const Doing& doing) {
    pollfd watched[] = {{interrupt.descriptor(), POLLIN, 0},
                        {process_.end_descriptor(), POLLIN, 0},
                        {process_.output().number(), POLLIN, 0},
                        {process_.errors().number(), POLLIN, 0}};
    ::poll(watched, 4, 100);
    read_output(doing);
  }

  // One piece of each stream, so that a program that never stops printing is still stopped. False
  // when nothing was there.
  bool read_output(const Doing& doing) {
    const std::string errors = read_some(process_.errors());
    errors_ += errors;
    keep_tail(errors_);
    const std::string output = read_some(process_.output());
    answers_.take(output, doing);
    return !errors.empty() || !output.empty();
  }

  const ResolvedCase& case_;
  const std::filesystem::path& modules_;
  const std::filesystem::path& folder_;
  const bool takes_turns_;
  ExternalAnswers answers_;
  Process process_;
  double worked_s_ = 0;
  std::string errors_;
  // A limit that cannot be read has been refused as the plugins were listed.
  MemoryGuard memory_guard_ = MemoryGuard::from_environment().value_or(MemoryGuard(std::nullopt));
  OutOfMemoryKills kills_;
  Clock::time_point next_look_;
};

ExternalProgram::ExternalProgram(const ResolvedCase& resolved, const std::filesystem::path& modules,
                                 const std::filesystem::path& folder, bool takes_turns)
    : talk_(std::make_unique<Talk>(resolved, modules, folder, takes_turns)) {}

ExternalProgram::~ExternalProgram() = default;

void ExternalProgram::begin() { talk_->begin(); }

std::optional<wire::TurnWanted> ExternalProgram::work(Interrupt& interrupt, const Doing& doing) {
  return talk_->work(interrupt, doing);
}

void ExternalProgram::give(const wire::Turn& turn) { talk_->give(turn); }

ExternalEnd ExternalProgram::end() { return talk_->end(); }

ExternalEnd run_external_case(const ResolvedCase& resolved, const std::filesystem::path& modules,
                              const std::filesystem::path& folder, Interrupt& interrupt,
                              const Doing& doing) {
  ExternalProgram program(resolved, modules, folder, false);
  program.begin();
  program.work(interrupt, doing);
  return program.end();
}

}  // namespace assay::run
