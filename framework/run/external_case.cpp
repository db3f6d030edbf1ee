#include "run/external_case.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "run/external_series.h"
#include "run/host_memory.h"
#include "run/worker.h"
#include "store/json.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;
using Doing = std::function<void(const std::string&)>;

// Far more than a million samples: what prints more than this prints no results.
constexpr std::size_t most_output_bytes = 256u << 20;
constexpr std::size_t most_line_bytes = 64u << 20;
constexpr std::size_t most_bad_lines = 100;

// What is there, up to a pipe's worth, without blocking; closes the stream at its end. False when
// there was nothing.
bool read_some(wire::Descriptor& stream, std::string& text) {
  pollfd ready = {stream.number(), POLLIN, 0};
  if (!stream.open() || ::poll(&ready, 1, 0) <= 0) return false;
  char buffer[65536];
  const ssize_t count = ::read(stream.number(), buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  if (count == 0 || (count < 0 && errno != EINTR)) stream.close();
  return count > 0;
}

}  // namespace

class ExternalProgram::Talk {
 public:
  Talk(const ResolvedCase& resolved, const std::filesystem::path& modules,
       const std::filesystem::path& folder, bool takes_turns)
      : case_(resolved), modules_(modules), folder_(folder), takes_turns_(takes_turns) {}

  void begin() {
    Process::Command command;
    command.arguments = words();
    command.environment["PYTHONPATH"] = python_path();
    command.environment["ASSAY_PROTOCOL"] = "1";
    command.standard_input = true;
    auto process = Process::start(command);
    if (!process) return ended_with(Outcome::unsupported, process.error().text());
    process_ = std::move(*process);
    send_case();
  }

  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const Doing& doing) {
    doing_ = &doing;
    const auto begun = Clock::now();
    if (process_.started()) follow(interrupt);
    worked_s_ += std::chrono::duration<double>(Clock::now() - begun).count();
    return std::exchange(wanted_, std::nullopt);
  }

  void give(const wire::Turn& turn) {
    granted_[asked_for_] += turn.samples;
    send({{"turn", {{"samples", turn.samples}, {"after_others", turn.after_others}}}});
  }

  ExternalEnd end() {
    if (end_.outcome == Outcome::ok && !end_.interrupted) look_for_every_pass();
    if (takes_turns_ && end_.outcome == Outcome::ok && !end_.interrupted) look_for_turns();
    tell_of_sampling();
    if (!errors_.empty()) end_.context["output"] = printable(errors_);
    if (end_.outcome == Outcome::crashed || end_.outcome == Outcome::timeout) {
      left_.without_exchange = "no tensors were exchanged: " + end_.reason;
    }
    return std::move(left_);
  }

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
    int unread_bytes = 0;
    if (::ioctl(process_.input().number(), FIONREAD, &unread_bytes) == 0 && unread_bytes > 0) {
      breaks_the_rules_ = true;
      return refuse("the program does not read the turns that it asks for");
    }
    const std::string text = message.dump() + "\n";
    static_cast<void>(!::write(process_.input().number(), text.data(), text.size()));
  }

  // Until the program waits for its turn, or has ended and what it printed has been read. A process
  // that it has started may hold a pipe for longer; that is not waited for.
  void follow(Interrupt& interrupt) {
    const auto limit = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(
                                          (case_.time_limit_s - worked_s_) * 1e3));
    (*doing_)("external");
    while (!process_.ended()) {
      wait_for_output(interrupt);
      interrupt.update();
      if (interrupt.stop_now()) {
        end_.interrupted = true;
        return process_.kill();
      }
      if (is_flood() || breaks_the_rules_) {
        wanted_.reset();
        return process_.kill();
      }
      if (wanted_) return;
      if (fills_the_memory()) return process_.kill();
      if (Clock::now() > limit) {
        process_.kill();
        ended_with(Outcome::timeout, fmt::format("the case did not finish within {}",
                                                 human_duration(case_.time_limit_s)));
        return;
      }
    }
    const ProcessEnd how = process_.wait();
    process_.kill();  // what it has started and left behind
    while (read_output() && !is_flood()) {
    }
    wanted_.reset();
    if (how.signalled || how.number != 0) {
      const auto lines = split(std::string(trim(errors_)), '\n');
      ended_with(Outcome::crashed, fmt::format("the program ended with {}: {}", how.text(),
                                               lines.empty() ? "" : printable(lines.back())));
    }
  }

  bool fills_the_memory() {
    const auto now = Clock::now();
    if (now < next_look_) return false;
    const MemoryGuard::Look look = memory_guard_.look({process_.pid()});
    next_look_ = now + std::chrono::milliseconds(look.next_ms);
    if (look.stop) ended_with(Outcome::oom, *look.stop);
    return look.stop.has_value();
  }

  void wait_for_output(const Interrupt& interrupt) {
    pollfd watched[] = {{interrupt.descriptor(), POLLIN, 0},
                        {process_.end_descriptor(), POLLIN, 0},
                        {process_.output().number(), POLLIN, 0},
                        {process_.errors().number(), POLLIN, 0}};
    ::poll(watched, 4, 100);
    read_output();
  }

  // One piece of each stream, so that a program that never stops printing is still stopped. False
  // when nothing was there.
  bool read_output() {
    const bool errors = read_some(process_.errors(), errors_);
    keep_tail(errors_);
    const std::size_t before = output_.size();
    const bool output = read_some(process_.output(), output_);
    printed_bytes_ += output_.size() - before;
    take_lines();
    return errors || output;
  }

  void ended_with(Outcome outcome, std::string reason) {
    end_.outcome = outcome;
    end_.reason = std::move(reason);
  }

  // A program that prints without end is stopped, not read to the end.
  bool is_flood() {
    if (output_.size() > most_line_bytes) {
      ended_with(Outcome::error, "the program printed a line of more than 64 MiB");
    } else if (printed_bytes_ > most_output_bytes) {
      ended_with(Outcome::error, "the program printed more than 256 MiB");
    } else {
      return bad_lines_ > most_bad_lines;
    }
    return true;
  }

  void take_lines() {
    // What is left of the last call holds no newline: it is not searched again.
    std::size_t start = 0;
    for (std::size_t newline;
         (newline = output_.find('\n', std::max(start, searched_bytes_))) != std::string::npos &&
         bad_lines_ <= most_bad_lines;) {
      take_line(std::string_view(output_).substr(start, newline - start));
      start = newline + 1;
    }
    output_.erase(0, start);
    searched_bytes_ = output_.size();
  }

  void take_line(std::string_view line) {
    if (trim(line).empty()) return;
    const auto json = store::parse_json(line);
    if (!json || !json->is_object()) {
      ++bad_lines_;
      return refuse(fmt::format("the program printed a line that is not a JSON object: {}",
                                printable(line.substr(0, 120))));
    }
    if (json->contains("turn")) take_turn_wanted((*json)["turn"]);
    if (json->contains("series")) take_series((*json)["series"]);
    if (json->contains("check")) take_check((*json)["check"]);
    if (json->contains("unchecked")) take_unchecked((*json)["unchecked"]);
    if (json->contains("done") && (*json)["done"].contains("versions")) {
      end_.context["versions"] = (*json)["done"]["versions"];
    }
  }

  // One that asks in vain would wait for ever.
  void take_turn_wanted(nlohmann::json json) {
    if (json.is_object()) json["ordinal"] = case_.request.ordinal;
    auto wanted = wire::turn_wanted_from_json(json);
    std::string wrong;
    if (!takes_turns_) {
      wrong = "the program asked for a turn in a case that has none";
    } else if (!wanted) {
      wrong = wanted.error().text();
    } else if (std::ranges::count(case_.request.passes, wanted->pass) == 0) {
      wrong = fmt::format("the program asked for a turn of '{}', which is no pass of the case",
                          printable(wanted->pass));
    } else {
      asked_for_ = wanted->pass;
      wanted_ = std::move(*wanted);
      return;
    }
    breaks_the_rules_ = true;
    refuse(std::move(wrong));
  }

  void take_series(const nlohmann::json& json) {
    auto series = store::series_from_json(json);
    if (!series) return refuse(series.error().text());
    if (auto checked = check_external_series(*series, case_.request); !checked) {
      return refuse(checked.error().text());
    }
    const auto told =
        std::find_if(end_.series.begin(), end_.series.end(), [&](const store::Series& earlier) {
          return std::tie(earlier.pass, earlier.metric, earlier.part) ==
                 std::tie(series->pass, series->metric, series->part);
        });
    if (told != end_.series.end()) return contradict(*told);
    if (series->outcome != Outcome::ok && end_.outcome == Outcome::ok) {
      ended_with(series->outcome, series->reason);
    }
    (*doing_)(series->pass);
    end_.series.push_back(std::move(*series));
  }

  // The first thing that is wrong is the reason.
  void refuse(std::string reason) {
    if (end_.outcome == Outcome::ok) ended_with(Outcome::error, std::move(reason));
  }

  // Neither of two answers counts.
  void contradict(store::Series& told) {
    const std::string reason =
        fmt::format("the program reported '{}' of '{}' more than once", told.metric, told.pass);
    told.outcome = Outcome::error;
    told.reason = reason;
    told.samples.clear();
    told.statistics.clear();
    refuse(reason);
  }

  // The file lies in the folder that this case was given, and nowhere else.
  void take_check(const nlohmann::json& json) {
    const std::string pass = text_at(json, "pass");
    const std::string file = text_at(json, "file");
    if (folder_.empty() || file.empty() || file.find('/') != std::string::npos || file == "." ||
        file == "..") {
      return refuse(
          fmt::format("the program exchanged '{}', which is not the name of a file in "
                      "the folder it was given",
                      file));
    }
    left_.exchanged.push_back({pass, (folder_ / file).string()});
  }

  void take_unchecked(const nlohmann::json& json) {
    left_.unverified[text_at(json, "pass")] = text_at(json, "reason");
  }

  static std::string text_at(const nlohmann::json& json, const char* name) {
    const auto found = json.find(name);
    return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>()
                                                                         : std::string();
  }

  void look_for_every_pass() {
    for (const std::string& pass : case_.request.passes) {
      const auto times_it = [&](const store::Series& series) {
        return series.pass == pass && series.metric == "time";
      };
      if (std::none_of(end_.series.begin(), end_.series.end(), times_it)) {
        refuse(fmt::format("the program ended without a time for pass '{}'", pass));
      }
    }
  }

  // What it took beside the turns it was given, others may have been in.
  void look_for_turns() {
    for (const store::Series& series : end_.series) {
      if (series.metric != "time" || series.outcome != Outcome::ok) continue;
      const auto granted = static_cast<std::size_t>(granted_[series.pass]);
      if (series.samples.size() <= granted) continue;
      refuse(fmt::format("the program reported {} samples of pass '{}', its turns were of {}",
                         series.samples.size(), series.pass, granted));
    }
  }

  void tell_of_sampling() {
    for (const store::Series& series : end_.series) {
      if (series.metric != "time" || series.outcome != Outcome::ok) continue;
      end_.context["timing"][series.pass] = sampling_of(series, case_.request);
    }
  }

  const ResolvedCase& case_;
  const std::filesystem::path& modules_;
  const std::filesystem::path& folder_;
  const bool takes_turns_;
  const Doing* doing_ = nullptr;  // of the work under way
  Process process_;
  std::optional<wire::TurnWanted> wanted_;
  std::string asked_for_;                        // the pass of the last turn
  std::map<std::string, std::int64_t> granted_;  // samples, by pass
  bool breaks_the_rules_ = false;
  double worked_s_ = 0;
  std::string output_;  // not yet taken: the beginning of a line
  std::size_t searched_bytes_ = 0;
  std::size_t printed_bytes_ = 0;
  std::size_t bad_lines_ = 0;
  std::string errors_;
  // A limit that cannot be read has been refused as the plugins were listed.
  MemoryGuard memory_guard_ = MemoryGuard::from_environment().value_or(MemoryGuard(std::nullopt));
  Clock::time_point next_look_;
  ExternalEnd left_;
  CaseEnd& end_ = left_.end;
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
                              const std::function<void(const std::string&)>& doing) {
  ExternalProgram program(resolved, modules, folder, false);
  program.begin();
  program.work(interrupt, doing);
  return program.end();
}

}  // namespace assay::run
