#include "run/workers/worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "run/node/local_rank.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t line_bytes = 300;

}  // namespace

std::string rank_name(std::size_t rank, std::size_t ranks) {
  return ranks > 1 ? fmt::format("rank {}", rank) : "the worker";
}

Result<Worker> Worker::start(Process::Command command) {
  auto process = LocalRank::start(std::move(command));
  if (!process) return tl::unexpected(process.error());
  return Worker(std::make_unique<LocalRank>(std::move(*process)));
}

void Worker::begin_case() {
  read_output();
  output_.clear();
  done = false;
  status = {};
  facts = {};
  wanted.reset();
  activity.clear();
}

wire::CaseRequest Worker::own(wire::CaseRequest request) const {
  request.begin_s += process->clock_ahead_s();
  const auto folder = process->folder();
  if (!folder || request.artefact_folder.empty()) return request;
  const auto name = std::filesystem::path(request.artefact_folder).filename();
  request.artefact_folder = folder->empty() ? "" : (*folder / name).string();
  return request;
}

void Worker::finish(Status with) {
  done = true;
  status = std::move(with);
  done_at_ = Clock::now();
}

void Worker::read_output() {
  process->read_output(output_);
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

std::string Worker::last_words(const std::string& reason) const {
  if (reason.find("device-side assert") != std::string::npos) {
    for (const std::string& line : split(output(), '\n')) {
      if (line.find("Assertion `") != std::string::npos) return ": " + line;
    }
  }
  const std::string last = last_lines();
  return last.empty() ? "" : "; it printed: " + last;
}

Status Worker::death(const std::string& who, const OutOfMemoryKills& kills) {
  const ProcessEnd end = process->wait();
  read_output();
  if (const std::string why = process->out_of_reach(); !why.empty()) {
    return {Outcome::crashed, fmt::format("{} is out of reach: {}", who, why)};
  }
  if (std::string why = process->stopped(); !why.empty()) return {Outcome::oom, std::move(why)};
  if (auto reason = end.out_of_memory(who, process->ended_by_system(kills))) {
    return {Outcome::oom, std::move(*reason)};
  }
  std::string reason = fmt::format("{} ended with {}", who, end.text());
  if (const std::string cause = printable(process->cause()); end.signalled && !cause.empty()) {
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
