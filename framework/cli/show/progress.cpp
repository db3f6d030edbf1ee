#include "cli/show/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/output.h"
#include "base/text.h"
#include "store/records/marks.h"

namespace assay::cli {

namespace {

constexpr int bar_width = 20;

int terminal_width() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(std::size_t done, std::size_t total) {
  const std::size_t filled = total == 0 ? 0 : bar_width * done / total;
  return "[" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "]";
}

// ", throttled, wide"
std::string marked(const store::CaseResult& result) {
  std::vector<std::string> words;
  for (const store::Mark& mark : result.facts.marks) {
    if (std::find(words.begin(), words.end(), mark.mark) == words.end()) words.push_back(mark.mark);
  }
  return words.empty() ? "" : ", " + join(words, ", ");
}

}  // namespace

void Progress::run_started(const std::string& run, std::size_t cases, std::size_t already_done) {
  total_ = cases;
  done_ = already_done;
  started_ = std::chrono::steady_clock::now();
  const std::string done =
      already_done > 0 ? fmt::format(", {} already done", already_done) : std::string();
  say(fmt::format("run {}: {} {}{}\n", run, cases, cases == 1 ? "case" : "cases", done));
}

void Progress::told(const std::string& what) { say(what); }

void Progress::case_started(std::size_t, const std::string& description) {
  description_ = description;
  draw("starting");
}

void Progress::case_doing(const std::string& what) { draw(what); }

void Progress::case_finished(const store::CaseResult& result) {
  ++done_;
  ++measured_;
  ++outcomes_[result.outcome];
  const bool shown = !terminal_ || result.outcome != Outcome::ok;
  if (shown) {
    // On a terminal the line replaces the bar, which draw() shows again below it.
    say(fmt::format("{}{}/{} {}: {}{} ({}){}{}\n", terminal_ ? "\r\033[K" : "", done_, total_,
                    description_, to_text(result.outcome), marked(result),
                    human_duration(result.wall_s), result.reason.empty() ? "" : ": ",
                    result.reason));
  }
  draw("done");
}

void Progress::interrupted() {
  say(fmt::format(
      "{}interrupted: assay finishes the current measurement; interrupt again to stop at once\n",
      terminal_ ? "\r\033[K" : ""));
}

void Progress::close() { say(terminal_ && total_ > 0 ? "\n" : ""); }

// Does not wait for a stopped terminal: text stays pending until it runs again.
void Progress::say(const std::string& text) {
  pending_ += text;
  if (!terminal_ || error_stream_is_ready()) write_error(std::exchange(pending_, {}));
}

void Progress::draw(const std::string& activity) {
  if (!terminal_ || !error_stream_is_ready()) return;
  std::string line = fmt::format("{} {}/{} {}{} | {} | {}", bar(done_, total_), done_, total_,
                                 outcomes(), time_left(), description_, activity);
  const auto width = static_cast<std::size_t>(terminal_width() - 1);
  if (line.size() > width) line.resize(width);
  say("\r\033[K" + line);
}

std::string Progress::outcomes() const {
  std::vector<std::string> words;
  for (const auto& [outcome, count] : outcomes_) {
    words.push_back(fmt::format("{} {}", count, to_text(outcome)));
  }
  return join(words, ", ");
}

std::string Progress::time_left() const {
  if (measured_ == 0 || done_ >= total_) return "";
  const double passed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  const double each_s = passed_s / static_cast<double>(measured_);
  return ", about " + human_duration(each_s * static_cast<double>(total_ - done_)) + " left";
}

}  // namespace assay::cli
