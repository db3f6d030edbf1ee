#include "run/external/external_case.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/clock_duration.h"
#include "base/printable.h"
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

std::optional<wire::TurnWanted> ExternalProgram::work(Interrupt& interrupt,
                                                      const ActivityListener& listener) {
  const auto begun = Clock::now();
  if (process_.started()) follow(interrupt, listener);
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

// Never blocks: a message is far smaller than a pipe's buffer, and a program that has not read the
// last one gets none. follow() notices a program that has ended.
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

// Returns once the program waits for its turn, or has ended and its output has been read. It does
// not wait for a descendant that holds a pipe for longer.
void ExternalProgram::follow(Interrupt& interrupt, const ActivityListener& listener) {
  const auto limit = Clock::now() + clock_duration(case_.time_limit_s - worked_s_);
  listener("external");
  while (!process_.ended()) {
    wait_for_output(interrupt, listener);
    interrupt.update();
    if (must_stop(interrupt, limit)) {
      answers_.drop_wanted();
      return process_.kill();
    }
    if (answers_.wanted()) return;
  }
  const ProcessEnd how = process_.wait();
  process_.kill();  // its descendants
  while (read_output(listener) && !answers_.must_be_stopped()) {
  }
  answers_.drop_wanted();
  if (takes_turns_ && leaves_unread()) answers_.take_back_last_turn();
  if (how.signalled || how.number != 0) report_crash(how);
}

// The answers hold the reason.
bool ExternalProgram::must_stop(const Interrupt& interrupt, Clock::time_point limit) {
  if (interrupt.stop_now()) {
    answers_.interrupted();
    return true;
  }
  if (answers_.must_be_stopped() || fills_the_memory()) return true;
  if (Clock::now() <= limit) return false;
  answers_.cut_short(Outcome::timeout, fmt::format("the case did not finish within {}",
                                                   human_duration(case_.time_limit_s)));
  return true;
}

void ExternalProgram::report_crash(const ProcessEnd& how) {
  if (auto reason = how.out_of_memory("the program", kills_.any())) {
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

void ExternalProgram::wait_for_output(const Interrupt& interrupt,
                                      const ActivityListener& listener) {
  std::vector<pollfd> watched = {{interrupt.descriptor(), POLLIN, 0},
                                 {process_.end_descriptor(), POLLIN, 0}};
  process_.watch_streams(watched);
  ::poll(watched.data(), watched.size(), 100);
  read_output(listener);
}

// False where there was nothing to read.
bool ExternalProgram::read_output(const ActivityListener& listener) {
  std::string output, errors;
  drain(process_.output(), output);
  drain(process_.errors(), errors);
  errors_ += errors;
  keep_tail(errors_);
  answers_.take(output, listener);
  return !errors.empty() || !output.empty();
}

}  // namespace assay::run
