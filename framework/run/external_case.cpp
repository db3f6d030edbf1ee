#include "run/external_case.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/text.h"
#include "store/json.h"

namespace assay::run {

namespace {

constexpr std::size_t kept_output_bytes = 8192;

class ExternalCase {
 public:
  ExternalCase(const ResolvedCase& resolved, Interrupt& interrupt,
               const std::function<void(const std::string&)>& doing)
      : case_(resolved), interrupt_(interrupt), doing_(doing) {}

  CaseEnd run() {
    Process::Command command;
    command.arguments = words();
    command.standard_input = true;
    auto process = Process::start(command);
    if (!process) return ended(Outcome::unsupported, process.error().text());
    process_ = std::move(*process);
    send_case();
    follow();
    return std::move(end_);
  }

 private:
  CaseEnd ended(Outcome outcome, std::string reason) {
    end_.outcome = outcome;
    end_.reason = std::move(reason);
    return std::move(end_);
  }

  std::vector<std::string> words() const {
    std::vector<std::string> words = case_.external->command;
    const char* python = std::getenv("ASSAY_PYTHON");
    if (words.front() == "python3" && python != nullptr && *python != '\0') words.front() = python;
    return words;
  }

  void send_case() {
    nlohmann::json presets = nlohmann::json::object();
    for (const auto& [name, fields] : case_.request.presets) presets[name] = store::to_json(fields);
    const std::string text =
        nlohmann::json{{"protocol", 1},
                       {"variant", case_.external->name},
                       {"parameters", store::to_json(case_.request.parameters)},
                       {"presets", std::move(presets)},
                       {"passes", case_.request.passes}}
            .dump() +
        "\n";
    // The case is far smaller than a pipe's buffer; a program that has ended shows below.
    static_cast<void>(!::write(process_.input().number(), text.data(), text.size()));
    process_.input().close();
  }

  void follow() {
    const auto limit =
        std::chrono::steady_clock::now() +
        std::chrono::milliseconds(static_cast<std::int64_t>(case_.time_limit_s * 1e3));
    doing_("external");
    bool open = true;
    while (open) {
      pollfd watched[] = {{interrupt_.descriptor(), POLLIN, 0},
                          {process_.output().number(), POLLIN, 0},
                          {process_.errors().number(), POLLIN, 0}};
      ::poll(watched, 3, 200);
      interrupt_.update();
      if (interrupt_.stop_now()) {
        end_.interrupted = true;
        return process_.kill();
      }
      if (!drain(process_.errors(), errors_)) process_.errors().close();
      if (errors_.size() > kept_output_bytes) errors_.erase(0, errors_.size() - kept_output_bytes);
      open = drain(process_.output(), output_);
      take_lines();
      if (std::chrono::steady_clock::now() > limit) {
        process_.kill();
        ended_with(Outcome::timeout, fmt::format("the case did not finish within {}",
                                                 human_duration(case_.time_limit_s)));
        return;
      }
    }
    const ProcessEnd how = process_.wait();
    if (process_.errors().open()) drain(process_.errors(), errors_);
    if (how.signalled || how.number != 0) {
      const auto lines = split(std::string(trim(errors_)), '\n');
      ended_with(Outcome::crashed, fmt::format("the program ended with {}: {}", how.text(),
                                               lines.empty() ? "" : lines.back()));
    }
  }

  void ended_with(Outcome outcome, std::string reason) {
    end_.outcome = outcome;
    end_.reason = std::move(reason);
  }

  void take_lines() {
    for (std::size_t newline; (newline = output_.find('\n')) != std::string::npos;) {
      take_line(std::string_view(output_).substr(0, newline));
      output_.erase(0, newline + 1);
    }
  }

  void take_line(std::string_view line) {
    if (trim(line).empty()) return;
    const auto json = store::parse_json(line);
    if (!json || !json->is_object()) {
      return ended_with(Outcome::error,
                        fmt::format("the program printed a line that is not a JSON object: {}",
                                    line.substr(0, 120)));
    }
    if (!json->contains("series")) return;
    auto series = store::series_from_json((*json)["series"]);
    if (!series) return ended_with(Outcome::error, series.error().text());
    if (series->outcome != Outcome::ok && end_.outcome == Outcome::ok) {
      ended_with(series->outcome, series->reason);
    }
    doing_(series->pass);
    end_.series.push_back(std::move(*series));
  }

  const ResolvedCase& case_;
  Interrupt& interrupt_;
  const std::function<void(const std::string&)>& doing_;
  Process process_;
  std::string output_;
  std::string errors_;
  CaseEnd end_;
};

}  // namespace

CaseEnd run_external_case(const ResolvedCase& resolved, Interrupt& interrupt,
                          const std::function<void(const std::string&)>& doing) {
  return ExternalCase(resolved, interrupt, doing).run();
}

}  // namespace assay::run
