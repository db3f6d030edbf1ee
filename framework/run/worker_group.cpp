#include "run/worker_group.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "base/text.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds start_limit(120);
// Once one rank has failed, the others have this long to say why they did.
constexpr std::chrono::seconds grace(3);
constexpr std::size_t kept_output_bytes = 8192;

std::string random_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

int milliseconds_until(Clock::time_point moment) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(moment - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1000));
}

// The last lines a worker printed, for the reason of a crash.
std::string last_lines(const std::string& output) {
  const std::vector<std::string> lines = split(std::string(trim(output)), '\n');
  std::vector<std::string> last(lines.end() - std::min<std::ptrdiff_t>(3, std::ssize(lines)),
                                lines.end());
  return join(last, " | ");
}

// The members of `own`, on every level, that `other` has not or has otherwise.
nlohmann::json difference(const nlohmann::json& own, const nlohmann::json& other) {
  nlohmann::json differs = nlohmann::json::object();
  for (const auto& [name, value] : own.items()) {
    const auto found = other.find(name);
    if (found == other.end() || value.type() != found->type()) {
      differs[name] = value;
    } else if (value.is_object()) {
      if (auto inner = difference(value, *found); !inner.empty()) differs[name] = std::move(inner);
    } else if (value != *found) {
      differs[name] = value;
    }
  }
  return differs;
}

}  // namespace

Result<WorkerGroup> WorkerGroup::start(const Installation& installation, int world_size) {
  auto listener = wire::Listener::on_loopback();
  const auto port = wire::free_port();
  if (!listener) return tl::unexpected(listener.error());
  if (!port) return tl::unexpected(port.error());
  const std::string token = random_token();
  WorkerGroup group;
  for (int rank = 0; rank < world_size; ++rank) {
    Process::Command command;
    command.arguments = {installation.executable.string(), "worker", "serve"};
    command.environment = {{wire::control_variable, listener->address()},
                           {wire::token_variable, token},
                           {"RANK", std::to_string(rank)},
                           {"LOCAL_RANK", std::to_string(rank)},
                           {"WORLD_SIZE", std::to_string(world_size)},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", std::to_string(*port)}};
    auto process = Process::start(command);
    if (!process) return tl::unexpected(process.error());
    group.workers_.push_back({.process = std::move(*process)});
  }
  if (const auto gathered = group.gather(*listener, token); !gathered) {
    return tl::unexpected(gathered.error());
  }
  return group;
}

Result<void> WorkerGroup::gather(wire::Listener& listener, const std::string& token) {
  const auto limit = Clock::now() + start_limit;
  const auto missing = [&] {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return !worker.channel.open(); });
  };
  while (missing()) {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      read_output(workers_[rank]);
      if (!workers_[rank].channel.open() && workers_[rank].process.ended()) {
        return fail(ExitCode::machine_lacks, "a worker could not start: " + death_of(rank),
                    "`assay doctor` says what is missing");
      }
    }
    if (Clock::now() > limit) {
      return fail(ExitCode::machine_lacks, "the workers did not start within two minutes");
    }
    pollfd waiting = {listener.descriptor(), POLLIN, 0};
    if (::poll(&waiting, 1, 50) <= 0) continue;
    auto channel = listener.accept();
    if (!channel) return tl::unexpected(channel.error());
    if (const auto admitted = admit(std::move(*channel), token); !admitted) return admitted;
  }
  return {};
}

// A connection that does not present the token is somebody else's and is dropped.
Result<void> WorkerGroup::admit(wire::Channel channel, const std::string& token) {
  const auto message = channel.receive();
  if (!message || !*message) return {};
  const auto hello = wire::hello_from_json(**message);
  if (!hello || hello->token != token) return {};
  const auto rank = static_cast<std::size_t>(hello->rank);
  if (rank >= workers_.size() || workers_[rank].channel.open()) {
    return fail(ExitCode::machine_lacks, fmt::format("two workers say they are rank {}", rank));
  }
  workers_[rank].channel = std::move(channel);
  if (rank == 0) versions_ = hello->versions;
  return {};
}

void WorkerGroup::read_output(Worker& worker) {
  for (wire::Descriptor* stream : {&worker.process.output(), &worker.process.errors()}) {
    if (stream->open() && !drain(*stream, worker.output)) stream->close();
  }
  if (worker.output.size() > kept_output_bytes) {
    worker.output.erase(0, worker.output.size() - kept_output_bytes);
  }
}

std::string WorkerGroup::death_of(std::size_t rank) {
  Worker& worker = workers_[rank];
  const ProcessEnd end = worker.process.wait();
  read_output(worker);
  const std::string last = last_lines(worker.output);
  const std::string who = workers_.size() > 1 ? fmt::format("rank {}", rank) : "the worker";
  return fmt::format("{} ended with {}{}{}", who, end.text(), last.empty() ? "" : ": ", last);
}

bool WorkerGroup::any(bool (*is_so)(const Worker&)) const {
  return std::any_of(workers_.begin(), workers_.end(), is_so);
}

void WorkerGroup::take_messages(std::size_t rank,
                                const std::function<void(const std::string&)>& doing) {
  Worker& worker = workers_[rank];
  const auto broken = [&](const std::string& why) {
    worker.done = true;
    worker.status = {Outcome::crashed, why};
  };
  const auto alive = worker.channel.read_available();
  while (!worker.done) {
    const auto message = worker.channel.next();
    if (!message) return broken(message.error().text());
    if (!*message) break;
    const std::string type = wire::message_type(**message);
    if (type == "progress" && rank == 0) {
      if (const auto progress = wire::progress_from_json(**message)) doing(progress->doing);
    } else if (type == "measured") {
      auto measured = wire::measured_from_json(**message);
      if (!measured) return broken(measured.error().text());
      if (measured->ordinal == case_.ordinal) {
        case_.end.series.push_back(std::move(measured->series));
      }
    } else if (type == "turn_wanted") {
      auto wanted = wire::turn_wanted_from_json(**message);
      if (!wanted) return broken(wanted.error().text());
      if (wanted->ordinal == case_.ordinal) worker.wanted = std::move(*wanted);
    } else if (type == "case_done") {
      const auto finished = wire::case_done_from_json(**message);
      if (!finished) return broken(finished.error().text());
      worker.done = finished->ordinal == case_.ordinal;
      worker.status = {finished->outcome, finished->reason};
      if (worker.done && finished->context.is_object()) worker.context = finished->context;
    }
  }
  if (!worker.done && (!alive || !*alive)) broken(death_of(rank));
}

void WorkerGroup::send_to_all(const nlohmann::json& message) {
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (worker.done || worker.channel.send(message)) continue;
    worker.done = true;
    worker.status = {Outcome::crashed, death_of(rank)};
  }
}

// Sleeps until a rank or the user has something to say, and takes it up.
void WorkerGroup::wait_and_read(const Interrupt& interrupt, int limit_ms,
                                const std::function<void(const std::string&)>& doing) {
  std::vector<pollfd> watched = {{interrupt.descriptor(), POLLIN, 0}};
  for (Worker& worker : workers_) {
    if (!worker.done) watched.push_back({worker.channel.descriptor(), POLLIN, 0});
    for (wire::Descriptor* stream : {&worker.process.output(), &worker.process.errors()}) {
      if (stream->open()) watched.push_back({stream->number(), POLLIN, 0});
    }
  }
  ::poll(watched.data(), watched.size(), limit_ms);
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    read_output(workers_[rank]);
    if (workers_[rank].done) continue;
    pollfd ready = {workers_[rank].channel.descriptor(), POLLIN, 0};
    if (::poll(&ready, 1, 0) > 0) take_messages(rank, doing);
  }
}

// What rank 0 tells stands for all; of the others only what differs from it is kept.
void WorkerGroup::merge_context(std::size_t rank) {
  nlohmann::json& context = case_.end.context;
  if (rank == 0) {
    context.update(workers_[0].context, true);
  } else if (auto own = difference(workers_[rank].context, workers_[0].context); !own.empty()) {
    context["ranks"][std::to_string(rank)] = std::move(own);
  }
}

void WorkerGroup::conclude() {
  CaseEnd& end = case_.end;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) merge_context(rank);
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (!worker.done) {
      const std::string who = workers_.size() > 1 ? fmt::format("rank {}", rank) : "the case";
      worker.status = {Outcome::timeout, case_.after_failure
                                             ? who + " did not finish after another rank had failed"
                                             : fmt::format("{} did not finish within {}", who,
                                                           human_duration(case_.time_limit_s))};
    }
    // A failing rank says more than those that waited for it.
    const bool more_telling =
        end.outcome == Outcome::ok || (end.outcome == Outcome::timeout && worker.done);
    if (!worker.status.ok() && more_telling) {
      end.outcome = worker.status.outcome;
      end.reason = worker.status.reason;
    }
  }
  end.reusable = end.outcome == Outcome::ok || end.outcome == Outcome::unsupported ||
                 end.outcome == Outcome::wrong;
}

CaseEnd WorkerGroup::run_case(const wire::CaseRequest& request, double time_limit_s,
                              Interrupt& interrupt,
                              const std::function<void(const std::string&)>& doing) {
  begin(request, time_limit_s);
  // Nobody is measured beside it: whoever asks for a turn has it.
  while (const auto wanted = work(interrupt, doing)) give({request.ordinal, 1, false});
  return end();
}

void WorkerGroup::begin(const wire::CaseRequest& request, double time_limit_s) {
  case_ = {request.ordinal, time_limit_s, 0, false, {}};
  for (Worker& worker : workers_) {
    worker.done = false;
    worker.status = {};
    worker.context = nlohmann::json::object();
    worker.wanted.reset();
  }
  send_to_all(wire::to_json(request));
}

void WorkerGroup::give(const wire::Turn& turn) {
  for (Worker& worker : workers_) worker.wanted.reset();
  send_to_all(wire::to_json(turn));
}

std::optional<wire::TurnWanted> WorkerGroup::work(
    Interrupt& interrupt, const std::function<void(const std::string&)>& doing) {
  const auto working = [](const Worker& worker) { return worker.working(); };
  const auto failed = [](const Worker& worker) { return worker.done && !worker.status.ok(); };
  const auto waiting = [](const Worker& worker) { return !worker.done; };
  const auto begun = Clock::now();
  auto limit = begun + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(case_.time_limit_s - case_.worked_s));
  while (any(working) && Clock::now() < limit) {
    if (!case_.after_failure && any(failed)) {
      case_.after_failure = true;
      limit = std::min(limit, Clock::now() + grace);
    }
    interrupt.update();
    if (interrupt.stop_now()) {
      case_.end.interrupted = true;
      return std::nullopt;
    }
    wait_and_read(interrupt, milliseconds_until(limit), doing);
  }
  case_.worked_s += std::chrono::duration<double>(Clock::now() - begun).count();
  case_.after_failure = case_.after_failure || any(failed);
  const bool all_wait = !any(working) && !any(failed) && any(waiting);
  return all_wait ? workers_.front().wanted : std::nullopt;
}

CaseEnd WorkerGroup::end() {
  if (!case_.end.interrupted) conclude();
  return std::move(case_.end);
}

}  // namespace assay::run
