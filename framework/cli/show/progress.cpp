#include "cli/show/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "store/records/marks.h"

namespace assay::cli {

namespace {

constexpr int bar_width = 20;

constexpr std::size_t narrow = 60;  // columns, too few for the bar itself

std::size_t terminal_width() {
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

Progress::Progress(bool terminal, std::function<std::size_t()> width, Colours colours)
    : terminal_(terminal), width_(std::move(width)), colours_(colours) {
  if (!width_) width_ = terminal_width;
}

Progress Progress::of_stderr() {
  return Progress(::isatty(STDERR_FILENO) != 0, terminal_width, Colours::of_stream(STDERR_FILENO));
}

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
    say(fmt::format("{}{}/{} {}: {}{} ({}){}{}\n", clearing(), done_, total_, description_,
                    colours_.outcome(to_text(result.outcome)), marked(result),
                    human_duration(result.wall_s), result.reason.empty() ? "" : ": ",
                    result.reason));
  }
  draw("done");
}

void Progress::interrupted() {
  say(fmt::format(
      "{}interrupted: assay finishes the current measurement; interrupt again to stop at once\n",
      clearing()));
}

void Progress::close() { say(terminal_ && total_ > 0 ? "\n" : ""); }

// Does not wait for a stopped terminal: text stays pending until it runs again.
void Progress::say(const std::string& text) {
  pending_ += text;
  if (!terminal_ || error_stream_is_ready()) write_error(std::exchange(pending_, {}));
}

void Progress::draw(const std::string& activity) {
  if (!terminal_ || !error_stream_is_ready()) return;
  // The last column stays free: a terminal may wrap behind it.
  const std::string text = line(activity, std::max<std::size_t>(width_(), 2) - 1);
  say(clearing() + text);
  drawn_ = display_width(text);
}

std::string Progress::line(const std::string& activity, std::size_t width) const {
  const std::string counts = fmt::format("{}/{} {}{}", done_, total_, outcomes(), time_left());
  const std::string doing = printable_line(fmt::format(" | {} | {}", description_, activity));
  if (width >= narrow) return first_columns(bar(done_, total_) + " " + counts + doing, width);
  return first_columns(counts + doing, width);
}

std::string Progress::clearing() {
  if (!terminal_) return "";
  const std::size_t width = std::max<std::size_t>(width_(), 1);
  const std::size_t wrapped = drawn_ == 0 ? 0 : (drawn_ - 1) / width;
  drawn_ = 0;
  if (wrapped == 0) return "\r\033[K";
  return fmt::format("\r\033[{}A\033[J", wrapped);
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
