#include "run/launch/agent.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "base/clock_duration.h"
#include "base/json.h"
#include "base/text.h"
#include "run/node/base64.h"
#include "wire/messages.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds end_patience(30);  // with the end of a worker that was killed

}  // namespace

std::string Agent::name() const { return fmt::format("rank {} on {}", place_.rank, node_); }

std::string Agent::silence_in_words() const {
  return fmt::format("{} has not answered for {} s", node_, channel_.silence_limit().count());
}

void Agent::welcome() {
  send({{"type", "welcome"}, {"silence_s", channel_.silence_limit().count()}});
}

void Agent::lose(std::string why) {
  if (lost_.empty()) lost_ = std::move(why);
  channel_.close();
}

void Agent::update() {
  while (lost_.empty() && readable(channel_.descriptor())) {
    const auto alive = channel_.read_available();
    if (!alive) {
      lose(silence_in_words());
      break;
    }
    for (;;) {
      auto message = channel_.next();
      if (!message) lose("it sent what is no message: " + message.error().text());
      if (!message || !*message) break;
      take(**message);
    }
    if (!*alive) lose(fmt::format("its agent on {} has ended", node_));
  }
  if (lost_.empty() && channel_.silent()) lose(silence_in_words());
}

void Agent::take(const nlohmann::json& message) {
  const std::string type = wire::message_type(message);
  const auto known = [&](int worker) -> Told* {
    const auto found = workers_.find(worker);
    return found == workers_.end() ? nullptr : &found->second;
  };
  if (type == "answer") {
    const int call = integer_at<int>(message, "call");
    if (late_.erase(call) == 0) answers_[call] = message;
  } else if (type == "printed") {
    const auto printed = wire::worker_printed_from_json(message);
    Told* worker = printed ? known(printed->worker) : nullptr;
    if (worker != nullptr) worker->printed += printed->text;
  } else if (type == "ended") {
    auto ended = wire::worker_ended_from_json(message);
    Told* worker = ended ? known(ended->worker) : nullptr;
    if (worker != nullptr) worker->end = std::move(*ended);
  } else if (type == "asked") {
    const auto asked = wire::asked_from_json(message);
    Told* worker = asked ? known(asked->worker) : nullptr;
    if (worker == nullptr) return;
    worker->answered = asked->question;
    worker->collectives = asked->collectives;
  }
}

bool Agent::await(const std::function<bool()>& holds, milliseconds limit) {
  constexpr milliseconds look_at_silence(1000);
  const auto end = Clock::now() + limit;
  for (update(); !holds(); update()) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (!lost_.empty() || left.count() <= 0) return false;
    const auto wait = std::min(left, look_at_silence);
    static_cast<void>(readable(channel_.descriptor(), static_cast<int>(wait.count())));
  }
  return true;
}

void Agent::send(const nlohmann::json& message) {
  if (!lost_.empty()) return;
  if (const auto sent = channel_.send(message); !sent) {
    lose(channel_.silent() ? silence_in_words() : fmt::format("its connection to {} broke", node_));
  }
}

int Agent::ask(const char* what, nlohmann::json with) {
  with["type"] = "call";
  with["call"] = ++calls_;
  with["what"] = what;
  send(with);
  return calls_;
}

Result<nlohmann::json> Agent::answer(int call, milliseconds limit) {
  if (!await([&] { return answers_.contains(call); }, limit)) {
    late_.insert(call);
    return fail(ExitCode::machine_lacks,
                lost_.empty()
                    ? fmt::format("{} did not answer within {}", name(),
                                  human_duration(static_cast<double>(limit.count()) / 1000))
                    : fmt::format("{} is out of reach: {}", name(), lost_));
  }
  nlohmann::json answer = std::move(answers_.extract(call).mapped());
  const std::string problem = string_at(answer, "problem");
  if (problem.empty()) return answer;
  return fail(ExitCode::machine_lacks, name() + " " + problem);
}

// The shortest of several round trips bounds the difference best.
void Agent::compare_clocks(const std::string& own_boot_id) {
  if (place_.boot_id == own_boot_id) return;
  constexpr int trips = 8;
  double shortest_s = 1e9;
  for (int trip = 0; trip < trips; ++trip) {
    const double asked_s = monotonic_s();
    const auto said = asked("clock", nlohmann::json::object());
    const double answered_s = monotonic_s();
    if (!said || answered_s - asked_s >= shortest_s) continue;
    shortest_s = answered_s - asked_s;
    clock_ahead_s_ =
        number_from_json(member_of(*said, "now_s")).value_or(0) - (asked_s + answered_s) / 2;
  }
}

int Agent::start(wire::StartWorker start) {
  start.worker = ++started_;
  workers_[start.worker] = {};
  send(wire::to_json(start));
  return start.worker;
}

AgentRank::~AgentRank() {
  kill_soon();
  agent_->send({{"type", "forget"}, {"worker", worker_}});
  agent_->forget(worker_);
}

void AgentRank::watch(std::vector<pollfd>& watched) const {
  watched.push_back({agent_->descriptor(), POLLIN, 0});
}

void AgentRank::read_output(std::string& printed) {
  agent_->update();
  printed += std::exchange(told().printed, {});
}

void AgentRank::await_output() {
  if (ended()) return;
  ask();
  constexpr milliseconds soon(2000);
  agent_->await([this] { return told().answered == told().question || told().end; }, soon);
}

bool AgentRank::ended() {
  agent_->update();
  return told().end.has_value() || !agent_->lost().empty();
}

ProcessEnd AgentRank::wait() {
  agent_->await([this] { return told().end.has_value(); }, end_patience);
  if (!told().end) return {true, SIGKILL, 0};
  return {told().end->signalled, told().end->number, told().end->peak_memory_bytes};
}

std::string AgentRank::out_of_reach() const { return told().end ? "" : agent_->lost(); }
std::string AgentRank::stopped() const { return told().end ? told().end->stopped : ""; }
bool AgentRank::ended_by_system(const OutOfMemoryKills&) const {
  return told().end && told().end->out_of_memory;
}
std::string AgentRank::cause() const { return told().end ? told().end->cause : ""; }

void AgentRank::kill_soon() {
  if (!told().end) agent_->send({{"type", "kill"}, {"worker", worker_}});
}

void AgentRank::kill() {
  kill_soon();
  agent_->await([this] { return told().end.has_value(); }, end_patience);
}

void AgentRank::ask() {
  told().collectives = -1;
  agent_->send(wire::to_json(wire::Asked{worker_, ++told().question}));
}

bool AgentRank::answered() { return ended() || told().answered == told().question; }

std::optional<std::int64_t> AgentRank::collectives() const {
  const bool known = told().answered == told().question && told().collectives >= 0;
  return known ? std::optional(told().collectives) : std::nullopt;
}

std::optional<std::string> AgentRank::folder() const {
  const std::string& all = agent_->place().folder;
  return all.empty() ? "" : fmt::format("{}/{}", all, worker_);
}

Result<std::int64_t> AgentRank::take_file(const std::string& file, const std::filesystem::path& to,
                                          std::int64_t limit_bytes) {
  std::ofstream copy;
  std::int64_t taken = 0;
  for (std::int64_t total = 1; taken < total;) {
    const auto part = agent_->asked(
        "fetch", {{"worker", worker_}, {"file", file}, {"offset", taken}, {"limit", limit_bytes}},
        long_patience);
    if (!part) return tl::unexpected(part.error());
    total = integer_at(*part, "total");
    if (total > limit_bytes) return total;
    const auto bytes = from_base64(string_at(*part, "bytes"));
    const bool goes_on = bytes && (!bytes->empty() || total == 0) &&
                         taken + static_cast<std::int64_t>(bytes->size()) <= total;
    if (!goes_on) return fail(ExitCode::machine_lacks, "its agent sent no bytes of the file");
    if (!copy.is_open()) {
      std::error_code problem;
      std::filesystem::create_directories(to.parent_path(), problem);
      copy.open(to, std::ios::binary | std::ios::trunc);
    }
    copy << *bytes;
    taken += static_cast<std::int64_t>(bytes->size());
  }
  copy.close();
  if (copy) return taken;
  return fail(ExitCode::results_unreadable, fmt::format("'{}' cannot be written", to.string()));
}

void AgentRank::remove_case(int number) {
  agent_->send({{"type", "remove"}, {"worker", worker_}, {"case", number}});
}

}  // namespace assay::run
