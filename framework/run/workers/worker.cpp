#include "run/workers/worker.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "base/text.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t line_bytes = 300;

// The length of the UTF-8 character that text begins with; 0 where it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const std::size_t length = byte(0) < 0x80             ? 1
                             : (byte(0) & 0xe0) == 0xc0 ? 2
                             : (byte(0) & 0xf0) == 0xe0 ? 3
                             : (byte(0) & 0xf8) == 0xf0 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return 0;
  }
  // Written longer than need be, a surrogate, beyond the last character, a control character.
  const bool bad = (length == 2 && byte(0) < 0xc2) ||
                   (length == 3 && byte(0) == 0xe0 && byte(1) < 0xa0) ||
                   (length == 3 && byte(0) == 0xed && byte(1) > 0x9f) ||
                   (length == 4 && (byte(0) > 0xf4 || (byte(0) == 0xf0 && byte(1) < 0x90) ||
                                    (byte(0) == 0xf4 && byte(1) > 0x8f))) ||
                   (length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0);
  return bad ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const bool control =
        length == 1 && (text[0] < ' ' || text[0] == '\x7f') && text[0] != '\n' && text[0] != '\t';
    if (length == 0 || control) {
      shown += "\xef\xbf\xbd";  // U+FFFD
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

Result<Worker> Worker::start(Process::Command command) {
  auto shared = wire::SharedStatus::make();
  if (!shared) return tl::unexpected(shared.error());
  Worker worker;
  worker.status_page_ = std::move(*shared);
  const int page = worker.status_page_.descriptor();
  command.passed.push_back(page);
  command.environment[wire::status_variable] = std::to_string(page);
  auto process = Process::start(command);
  if (!process) return tl::unexpected(process.error());
  worker.process = std::move(*process);
  return worker;
}

void Worker::begin_case() {
  read_output();
  output_.clear();
  done = false;
  status = {};
  context = nlohmann::json::object();
  wanted.reset();
  doing.clear();
}

void Worker::finish(Status with) {
  done = true;
  status = std::move(with);
  done_at_ = Clock::now();
}

std::optional<std::int64_t> Worker::collectives() const {
  const wire::StatusPage* shared = page();
  const bool answered =
      shared != nullptr && shared->asked != 0 && shared->answered == shared->asked;
  return answered ? std::optional(shared->collectives.load()) : std::nullopt;
}

void Worker::read_output() {
  for (wire::Descriptor* stream : {&process.output(), &process.errors()}) {
    if (stream->open() && !drain(*stream, output_)) stream->close();
  }
  keep_tail(output_);
}

std::string Worker::output() const { return printable(output_); }

std::string Worker::last_lines() const {
  std::vector<std::string> lines = split(std::string(trim(output_)), '\n');
  lines.erase(lines.begin(), lines.end() - std::min<std::ptrdiff_t>(3, std::ssize(lines)));
  for (std::string& line : lines) {
    if (line.size() > line_bytes) line = "…" + line.substr(line.size() - line_bytes);
    line = printable(line);
  }
  return join(lines, " | ");
}

Status Worker::death(const std::string& who, const OutOfMemoryKills& kills) {
  const ProcessEnd end = process.wait();
  read_output();
  const std::string peak = human_size(end.peak_memory_bytes);
  if (end.signalled && end.number == SIGKILL && kills.any()) {
    return {Outcome::oom, fmt::format("host memory ran out: the system ended {} with SIGKILL; it "
                                      "held {} at most",
                                      who, peak)};
  }
  std::string reason = fmt::format("{} ended with {}", who, end.text());
  if (const std::string cause = printable(status_page_.cause()); end.signalled && !cause.empty()) {
    reason += ", " + cause;
  }
  if (const std::string last = last_lines(); !last.empty()) reason += ": " + last;
  return {Outcome::crashed, std::move(reason)};
}

void Worker::hang_up() {
  if (!hung_up_) hung_up_ = Clock::now();
}

bool Worker::silent_for(std::chrono::milliseconds time) const {
  return hung_up_ && Clock::now() - *hung_up_ > time;
}

}  // namespace assay::run
