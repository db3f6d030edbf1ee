#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "run/node/rank_process.h"
#include "wire/agent_messages.h"

namespace assay::run {

// How long the host waits for an answer: a rank that tries to connect gives up well before that.
inline constexpr std::chrono::seconds patience(20);
// For what takes a while: reading a large file, opening NVML.
inline constexpr std::chrono::seconds long_patience(60);

// The host's side of an agent, which runs one rank's workers on its node. All calls are of one
// thread.
class Agent {
 public:
  Agent(wire::Channel channel, wire::Join place)
      : channel_(std::move(channel)), place_(std::move(place)), node_(place_.node) {}

  const wire::Join& place() const { return place_; }
  // As other nodes of the launch are not called.
  void call_node(std::string name) { node_ = std::move(name); }
  // Tells it that it belongs to the launch.
  void welcome();
  // "rank 1 on n2", by the launch's rank.
  std::string name() const;
  // The host's address at which the agent has reached it.
  std::string host_address() const { return channel_.own_host(); }
  // The agent's address as the host sees it.
  std::string peer_address() const { return channel_.peer_host(); }
  // Why it is lost: "its connection has closed"; "" while it is not.
  const std::string& lost() const { return lost_; }
  int descriptor() const { return lost_.empty() ? channel_.descriptor() : -1; }

  // Takes what has arrived; never blocks.
  void update();
  // False after the limit, or once the agent is lost without it.
  bool await(const std::function<bool()>& holds, std::chrono::milliseconds limit);

  // Asks it to do something; answer() waits for what came of it. Errors: it is lost or late, or
  // what it says stands in its way.
  int ask(const char* what, nlohmann::json with = nlohmann::json::object());
  Result<nlohmann::json> answer(int call, std::chrono::milliseconds limit);
  Result<nlohmann::json> asked(const char* what, nlohmann::json with,
                               std::chrono::milliseconds limit = patience) {
    return answer(ask(what, std::move(with)), limit);
  }

  // Reads its clock, several times where it is on another machine than this one.
  void compare_clocks(const std::string& own_boot_id);
  double clock_ahead_s() const { return clock_ahead_s_; }

  // Starts a worker; the number names it to the agent.
  int start(wire::StartWorker start);
  void send(const nlohmann::json& message);

  // What it has told of a worker.
  struct Told {
    std::string printed;
    std::optional<wire::WorkerEnded> end;
    int question = 0;
    int answered = 0;
    std::int64_t collectives = -1;
  };
  Told& of(int worker) { return workers_[worker]; }
  void forget(int worker) { workers_.erase(worker); }

 private:
  void take(const nlohmann::json& message);
  void lose(std::string why);
  std::string silence_in_words() const;

  wire::Channel channel_;
  wire::Join place_;
  std::string node_;  // its node's name among those of the launch
  std::string lost_;
  double clock_ahead_s_ = 0;
  int calls_ = 0;
  int started_ = 0;
  std::map<int, nlohmann::json> answers_;
  std::set<int> late_;  // calls whose answers nobody waits for any more
  std::map<int, Told> workers_;
};

// A worker that an agent runs.
class AgentRank final : public RankProcess {
 public:
  // worker: the number of Agent::start().
  AgentRank(std::shared_ptr<Agent> agent, int worker) : agent_(std::move(agent)), worker_(worker) {}
  ~AgentRank() override;

  void watch(std::vector<pollfd>& watched) const override;
  void read_output(std::string& printed) override;
  void await_output() override;
  bool ended() override;
  ProcessEnd wait() override;
  bool is_ending() const override { return false; }
  std::string out_of_reach() const override;
  std::string stopped() const override;
  bool ended_by_system(const OutOfMemoryKills&) const override;
  std::string cause() const override;
  void kill_soon() override;
  void kill() override;
  void ask() override;
  bool answered() override;
  std::optional<std::int64_t> collectives() const override;
  std::optional<std::string> folder() const override;
  Result<std::int64_t> take_file(const std::string& file, const std::filesystem::path& to,
                                 std::int64_t limit_bytes) override;
  void remove_case(int number) override;
  double clock_ahead_s() const override { return agent_->clock_ahead_s(); }

 private:
  Agent::Told& told() const { return agent_->of(worker_); }

  std::shared_ptr<Agent> agent_;
  int worker_;
};

}  // namespace assay::run
