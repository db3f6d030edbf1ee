#include "run/external/external_case.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/clock_duration.h"
#include "base/text.h"
#include "run/workers/worker.h"
#include "store/records/json.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

ExternalProgram::ExternalProgram(const ResolvedCase& resolved, const std::filesystem::path& modules,
                                 const std::filesystem::path& folder, bool takes_turns)
    : case_(resolved),
      modules_(modules),
      folder_(folder),
      takes_turns_(takes_turns),
      answers_(resolved, folder, takes_turns) {}

void ExternalProgram::begin() {
  Process::Command command;
  command.arguments = words();
  const char* own = std::getenv("PYTHONPATH");
  command.environment["PYTHONPATH"] = own == nullptr || *own == '\0'
                                          ? modules_.string()
                                          : fmt::format("{}:{}", modules_.string(), own);
  command.environment["ASSAY_PROTOCOL"] = "1";
  command.standard_input = true;
  kills_.begin();
  auto process = Process::start(command);
  if (!process) return answers_.cut_short(Outcome::unsupported, process.error().text());
  process_ = std::move(*process);
  send_case();
}

std::optional<wire::TurnWanted> ExternalProgram::work(Interrupt& interrupt, const Doing& doing) {
  const auto begun = Clock::now();
  if (process_.started()) follow(interrupt, doing);
  worked_s_ += std::chrono::duration<double>(Clock::now() - begun).count();
  return answers_.wanted();
}

void ExternalProgram::give(const wire::Turn& turn) {
  answers_.given(turn);
  send({{"turn", {{"samples", turn.samples}, {"after_others", turn.after_others}}}});
}

std::vector<std::string> ExternalProgram::words() const {
  std::vector<std::string> words = case_.external->command;
  const char* python = std::getenv("ASSAY_PYTHON");
  if (words.front() == "python3" && python != nullptr && *python != '\0') words.front() = python;
  return words;
}

void ExternalProgram::send_case() {
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
void ExternalProgram::send(const nlohmann::json& message) {
  if (leaves_unread()) {
    return answers_.break_off("the program does not read the turns that it asks for");
  }
  const std::string text = message.dump() + "\n";
  static_cast<void>(!::write(process_.input().number(), text.data(), text.size()));
}

bool ExternalProgram::leaves_unread() {
  int bytes = 0;
  return ::ioctl(process_.input().number(), FIONREAD, &bytes) == 0 && bytes > 0;
}

// Until the program waits for its turn, or has ended and what it printed has been read. A process
// that it has started may hold a pipe for longer; that is not waited for.
void ExternalProgram::follow(Interrupt& interrupt, const Doing& doing) {
  const auto limit = Clock::now() + clock_duration(case_.time_limit_s - worked_s_);
  doing("external");
  while (!process_.ended()) {
    wait_for_output(interrupt, doing);
    interrupt.update();
    if (must_stop(interrupt, limit)) {
      answers_.waits_no_longer();
      return process_.kill();
    }
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
bool ExternalProgram::must_stop(const Interrupt& interrupt, Clock::time_point limit) {
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

void ExternalProgram::tell_of_crash(const ProcessEnd& how) {
  if (auto reason = how.out_of_memory("the program", kills_)) {
    return answers_.cut_short(Outcome::oom, std::move(*reason));
  }
  const auto lines = split(std::string(trim(errors_)), '\n');
  const std::string last = lines.empty() ? "" : printable(lines.back());
  answers_.cut_short(Outcome::crashed, fmt::format("the program ended with {}{}{}", how.text(),
                                                   last.empty() ? "" : ": ", last));
}

bool ExternalProgram::fills_the_memory() {
  const auto now = Clock::now();
  if (now < next_look_) return false;
  const MemoryGuard::Look look = memory_guard_.look({process_.subreaper()});
  next_look_ = now + std::chrono::milliseconds(look.next_ms);
  if (look.stop) answers_.cut_short(Outcome::oom, *look.stop);
  return look.stop.has_value();
}

void ExternalProgram::wait_for_output(const Interrupt& interrupt, const Doing& doing) {
  std::vector<pollfd> watched = {{interrupt.descriptor(), POLLIN, 0},
                                 {process_.end_descriptor(), POLLIN, 0}};
  process_.watch_streams(watched);
  ::poll(watched.data(), watched.size(), 100);
  read_output(doing);
}

// False when nothing was there.
bool ExternalProgram::read_output(const Doing& doing) {
  std::string output, errors;
  drain(process_.output(), output);
  drain(process_.errors(), errors);
  errors_ += errors;
  keep_tail(errors_);
  answers_.take(output, doing);
  return !errors.empty() || !output.empty();
}

}  // namespace assay::run
