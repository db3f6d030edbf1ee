#include "run/workers/worker_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock_duration.h"
#include "base/text.h"
#include "run/workers/accept_workers.h"
#include "run/workers/case_marks.h"
#include "run/workers/case_sense.h"
#include "run/workers/rank_verdict.h"
#include "run/workers/tool_reports.h"

namespace assay::run {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// After one rank has failed, the others have this long to report.
constexpr seconds grace(3);
// A worker whose connection has closed has this long to end.
constexpr milliseconds end_grace(2000);
// The system may take seconds to free a GPU's memory before the process has ended.
constexpr seconds longest_ending(60);
// Ranks have this long to answer in their status pages.
constexpr milliseconds answer_grace(2000);

int milliseconds_until(std::chrono::steady_clock::time_point moment) {
  const auto left =
      std::chrono::duration_cast<milliseconds>(moment - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1000));
}

}  // namespace

Result<WorkerGroup> WorkerGroup::start(const Installation& installation, int world_size,
                                       Interrupt* interrupt, const ProfilingTool* tool) {
  auto listener = wire::Listener::on_loopback();
  // Rank 0 inherits the socket, which keeps the port reserved.
  const auto rendezvous = wire::bind_port();
  if (!listener) return tl::unexpected(listener.error());
  if (!rendezvous) return tl::unexpected(rendezvous.error());
  const auto memory_guard = MemoryGuard::from_environment();
  if (!memory_guard) return tl::unexpected(memory_guard.error());
  const std::string token = random_token();
  WorkerGroup group;
  group.memory_guard_ = *memory_guard;
  group.left_in_ = std::make_shared<TemporaryFolder>("artefacts");
  group.tool_ = tool;
  auto next_look = Clock::now();
  for (int rank = 0; rank < world_size; ++rank) {
    Process::Command command;
    command.arguments = {installation.executable.string(), "worker", "serve"};
    command.environment = {{wire::control_variable, listener->address()},
                           {wire::token_variable, token},
                           {"RANK", std::to_string(rank)},
                           {"LOCAL_RANK", std::to_string(rank)},
                           {"WORLD_SIZE", std::to_string(world_size)},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", std::to_string(rendezvous->port)}};
    if (rank == 0 && world_size > 1) {
      const int socket = rendezvous->socket.number();
      command.passed.push_back(socket);
      command.environment[wire::rendezvous_variable] = std::to_string(socket);
    }
    if (tool != nullptr) {
      put_under(*tool, group.left_in_->path(), static_cast<std::size_t>(rank), command);
    }
    auto worker = Worker::start(std::move(command));
    if (!worker) return tl::unexpected(worker.error());
    group.workers_.push_back(std::move(*worker));
    if (Clock::now() < next_look) continue;
    const auto looked = within_memory(*memory_guard, group.workers_);
    if (!looked) return tl::unexpected(looked.error());
    next_look = Clock::now() + *looked;
  }
  auto versions = accept_workers(*listener, token, group.workers_, interrupt);
  if (!versions) return tl::unexpected(versions.error());
  group.versions_ = std::move(*versions);
  return group;
}

Result<WorkerGroup> WorkerGroup::start_on(RankJob& job, std::vector<Seat> seats,
                                          Interrupt* interrupt) {
  const std::string token = random_token();
  auto ranks = job.start_workers(seats, token);
  if (!ranks) return tl::unexpected(ranks.error());
  WorkerGroup group;
  group.left_in_ = std::make_shared<TemporaryFolder>("artefacts");
  group.job_ = &job;
  group.seats_ = std::move(seats);
  for (auto& rank : *ranks) group.workers_.emplace_back(std::move(rank));
  auto versions = accept_workers(job.listener(), token, group.workers_, interrupt);
  if (!versions) return tl::unexpected(versions.error());
  group.versions_ = std::move(*versions);
  return group;
}

WorkerGroup::~WorkerGroup() {
  for (Worker& worker : workers_) worker.process->kill_soon();
}

bool WorkerGroup::alive() {
  return std::none_of(workers_.begin(), workers_.end(), [](Worker& worker) {
    // Between cases a worker sends nothing: a readable channel has been closed.
    return worker.process->ended() || readable(worker.channel.descriptor());
  });
}

bool WorkerGroup::any(bool (*is_so)(const Worker&)) const {
  return std::any_of(workers_.begin(), workers_.end(), is_so);
}

void WorkerGroup::take_messages(std::size_t rank, const ActivityListener& listener) {
  Worker& worker = workers_[rank];
  // Read to the end: the connection may have closed behind the messages.
  bool alive = true;
  while (alive && !worker.done && readable(worker.channel.descriptor())) {
    const auto more = worker.channel.read_available();
    alive = more && *more;
    while (!worker.done) {
      const auto message = worker.channel.next();
      if (worker.channel.forged()) {
        return worker.fail(Outcome::wrong,
                           fmt::format("{} has not sent what came from its process: a plugin wrote "
                                       "to the connection between worker and host",
                                       name_of(rank)));
      }
      if (!message) {
        return worker.fail(Outcome::crashed,
                           fmt::format("{} sent what is no message of a worker: {}", name_of(rank),
                                       message.error().text()));
      }
      if (!*message) break;
      take(worker, **message);
      if (rank == 0 && wire::message_type(**message) == "progress") listener(worker.activity);
    }
  }
  if (!alive) worker.hang_up();
}

void WorkerGroup::take(Worker& worker, const nlohmann::json& message) {
  const std::string type = wire::message_type(message);
  const auto broken = [&](const Error& error) { worker.fail(Outcome::crashed, error.text()); };
  if (type == "progress") {
    if (auto progress = wire::progress_from_json(message)) worker.activity = progress->doing;
  } else if (type == "measured") {
    auto measured = wire::measured_from_json(message);
    if (!measured) return broken(measured.error());
    if (measured->ordinal == case_.ordinal) {
      worker.intake.take(std::move(measured->series), case_.end.series);
    }
  } else if (type == "turn_wanted") {
    auto wanted = wire::turn_wanted_from_json(message);
    if (!wanted) return broken(wanted.error());
    if (wanted->ordinal == case_.ordinal) worker.wanted = std::move(*wanted);
  } else if (type == "case_done") {
    auto finished = wire::case_done_from_json(message);
    if (!finished) return broken(finished.error());
    if (finished->ordinal != case_.ordinal) return;
    worker.finish({finished->outcome, std::move(finished->reason)});
    worker.facts = std::move(finished->facts);
    worker.artefacts = std::move(finished->artefacts);
  }
}

void WorkerGroup::look_for_death(std::size_t rank) {
  Worker& worker = workers_[rank];
  if (worker.done) return;
  if (worker.process->ended()) {
    Status death = worker.death(name_of(rank), kills_);
    return worker.fail(death.outcome, std::move(death.reason));
  }
  if (!worker.silent_for(end_grace)) return;
  if (worker.process->is_ending()) {
    if (!worker.silent_for(longest_ending)) return;
    return worker.fail(Outcome::crashed,
                       fmt::format("{} closed its connection and is still exiting after {} s",
                                   name_of(rank), longest_ending.count()));
  }
  worker.fail(Outcome::crashed,
              fmt::format("{} runs on without its connection to the host: a plugin has closed file "
                          "descriptors that are not its own",
                          name_of(rank)));
}

void WorkerGroup::send_to_all(const nlohmann::json& message) {
  for (Worker& worker : workers_) {
    if (!worker.done && !worker.channel.send(message)) worker.hang_up();
  }
}

void WorkerGroup::wait_and_read(const Interrupt& interrupt, int limit_ms,
                                const ActivityListener& listener) {
  std::vector<pollfd> watched = {{interrupt.descriptor(), POLLIN, 0}};
  for (Worker& worker : workers_) {
    if (worker.hung_up()) limit_ms = std::min(limit_ms, 50);
    if (!worker.done) {
      watched.push_back({worker.hung_up() ? -1 : worker.channel.descriptor(), POLLIN, 0});
    }
    worker.process->watch(watched);
  }
  ::poll(watched.data(), watched.size(), limit_ms);
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    workers_[rank].read_output();
    // Also of one that is done, whose end would otherwise stay readable.
    const bool ended = workers_[rank].process->ended() && !workers_[rank].done;
    // Messages sent before the end count.
    if (!workers_[rank].done && !workers_[rank].hung_up()) take_messages(rank, listener);
    if (ended || workers_[rank].hung_up()) look_for_death(rank);
  }
}

std::vector<pid_t> WorkerGroup::subreapers() const {
  std::vector<pid_t> pids;
  for (const Worker& worker : workers_) {
    if (const auto pid = worker.process->subreaper()) pids.push_back(*pid);
  }
  return pids.size() < workers_.size() ? std::vector<pid_t>() : pids;
}

void WorkerGroup::guard_memory() {
  if (Clock::now() < case_.next_look) return;
  const std::vector<pid_t> processes = subreapers();
  if (processes.empty()) {
    case_.next_look = Clock::time_point::max();
    return;
  }
  const MemoryGuard::Look look = memory_guard_.look(processes);
  case_.next_look = Clock::now() + milliseconds(look.next_ms);
  Worker& largest = workers_[look.largest];
  if (!look.stop || largest.done) return;
  largest.process->kill();
  largest.fail(Outcome::oom, *look.stop);
}

// A short case may have held and given back more than it may between two looks.
void WorkerGroup::look_back_at_memory() {
  if (any([](const Worker& worker) { return worker.failed() || !worker.done; })) return;
  const MemoryGuard::Look look = memory_guard_.look_back(subreapers());
  if (look.stop) workers_[look.largest].status = {Outcome::oom, *look.stop};
}

// Ranks that are not done answer in their status pages if they can still handle a signal.
void WorkerGroup::ask_for_status() {
  const auto limit = Clock::now() + answer_grace;
  for (Worker& worker : workers_) {
    if (!worker.done) worker.process->ask();
  }
  const auto owes = [](const Worker& worker) {
    return !worker.done && !worker.process->answered();
  };
  while (any(owes) && Clock::now() < limit) ::poll(nullptr, 0, 5);
}

// Rank 0's facts stand for all ranks; the others keep only their differences.
void WorkerGroup::merge_facts(std::size_t rank) {
  store::CaseFacts& facts = case_.end.facts;
  if (rank == 0) {
    facts = workers_[0].facts;
  } else if (auto own = difference(to_json(workers_[rank].facts), to_json(workers_[0].facts));
             !own.empty()) {
    facts.ranks[std::to_string(rank)] = store::case_facts_from_json(std::move(own));
  }
}

// The output of the rank that failed is the case's; the others' goes under their ranks.
void WorkerGroup::store_output(std::size_t failed) {
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    std::string output = workers_[rank].output();
    if (output.empty()) continue;
    store::CaseFacts& facts = case_.end.facts;
    (rank == failed ? facts : facts.ranks[std::to_string(rank)]).output = std::move(output);
  }
  const Outcome outcome = case_.end.outcome;
  if (outcome != Outcome::error && outcome != Outcome::oom && outcome != Outcome::wrong) return;
  const std::string last = workers_[failed].last_words(case_.end.reason);
  if (last.empty()) return;
  case_.end.reason += last;
  const std::string& reason = workers_[failed].status.reason;
  for (store::Series& series : case_.end.series) {
    if (series.outcome == outcome && series.reason == reason) series.reason += last;
  }
}

void WorkerGroup::conclude() {
  CaseEnd& end = case_.end;
  look_back_at_memory();
  std::vector<RankEnd> ranks;
  const bool late = any([](const Worker& worker) { return !worker.done; }) &&
                    !any([](const Worker& worker) { return worker.failed(); });
  if (late && workers_.size() > 1) ask_for_status();
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    workers_[rank].process->await_output();
    workers_[rank].read_output();
    const Worker& worker = workers_[rank];
    merge_facts(rank);
    take_left_files(*worker.process, static_cast<int>(rank),
                    std::exchange(workers_[rank].artefacts, {}), case_.left, end);
    ranks.push_back({worker.done, worker.status, worker.done_at(), worker.process->collectives(),
                     worker.activity, worker.last_lines(), worker.process->last_collectives()});
  }
  RankVerdict verdict = verdict_of(ranks, case_.time_limit_s);
  end.outcome = verdict.status.outcome;
  end.reason = std::move(verdict.status.reason);
  store_output(verdict.rank);
  if (end.outcome != Outcome::ok && workers_.size() > 1) {
    drop_echoes(end, verdict.rank);
    drop_incomplete_passes(end, workers_.size());
  }
  std::ranges::move(store::drop_bad_spans(end.series), std::back_inserter(end.facts.left_out));
  for (const Worker& worker : workers_) {
    std::ranges::move(worker.intake.problems(), std::back_inserter(end.facts.left_out));
  }
  bool spoiled = false;
  for (const Worker& worker : workers_) spoiled = add_marks(worker.facts, end.facts) || spoiled;
  end.facts.left_behind.clear();  // the marks say it
  end.reusable = end.outcome == Outcome::ok && !spoiled && !case_.observed;
  end.worked_s = case_.worked_s;
  if (std::string how = tampered(end.facts); !how.empty()) {
    refuse(end, case_.passes, Outcome::wrong, std::move(how));
  }
}

void WorkerGroup::begin(const wire::CaseRequest& request, double time_limit_s) {
  case_ = {.ordinal = request.ordinal,
           .passes = request.passes,
           .time_limit_s = time_limit_s,
           .observed = !request.observers.empty(),
           .left = {cases_++, "", request.artefact_limit_bytes},
           .next_look = Clock::now()};
  if (!left_in_->path().empty()) {
    case_.left.folder = (left_in_->path() / std::to_string(case_.left.case_number)).string();
  }
  kills_.begin();
  memory_guard_.begin(subreapers());
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    workers_[rank].begin_case();
    workers_[rank].intake = store::SeriesIntake(static_cast<int>(rank));
  }
  if (job_ != nullptr && refuse_other_files(request)) return;
  wire::CaseRequest sent = request;
  sent.artefact_folder = case_.left.folder;
  sent.begin_s = monotonic_s();
  for (Worker& worker : workers_) {
    if (!worker.channel.send(wire::to_json(worker.own(sent)))) worker.hang_up();
  }
}

bool WorkerGroup::refuse_other_files(const wire::CaseRequest& request) {
  const std::string why = job_->other_files(seats_, request.plugin_files);
  if (why.empty()) return false;
  for (Worker& worker : workers_) worker.fail(Outcome::error, why);
  return true;
}

void WorkerGroup::give(const wire::Turn& turn) {
  for (Worker& worker : workers_) worker.wanted.reset();
  send_to_all(wire::to_json(turn));
}

std::optional<wire::TurnWanted> WorkerGroup::work(Interrupt& interrupt,
                                                  const ActivityListener& listener) {
  const auto working = [](const Worker& worker) { return worker.working(); };
  const auto failed = [](const Worker& worker) { return worker.failed(); };
  const auto waiting = [](const Worker& worker) { return !worker.done; };
  const auto begun = Clock::now();
  auto limit = begun + clock_duration(case_.time_limit_s - case_.worked_s);
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
    wait_and_read(interrupt, milliseconds_until(std::min(limit, case_.next_look)), listener);
    guard_memory();
  }
  case_.worked_s += std::chrono::duration<double>(Clock::now() - begun).count();
  case_.after_failure = case_.after_failure || any(failed);
  const bool all_wait = !any(working) && !any(failed) && any(waiting);
  return all_wait ? workers_.front().wanted : std::nullopt;
}

CaseEnd WorkerGroup::end(Interrupt& interrupt) {
  if (case_.end.interrupted) return std::move(case_.end);
  conclude();
  if (tool_ != nullptr) {
    take_tool_reports(*tool_, left_in_->path(), case_.passes.empty() ? "" : case_.passes.front(),
                      workers_, interrupt, case_.end);
  }
  if (!case_.end.artefacts.empty()) case_.end.left_in.push_back(left_in_);
  return std::move(case_.end);
}

}  // namespace assay::run
