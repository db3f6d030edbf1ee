#pragma once

// run/launch starts ranks through launch engines and reaches them on their nodes: presets of
// launchers, and what the host sees of the agents. It depends on run/node. Start here.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/launch/agent.h"
#include "run/launch/launch_request.h"
#include "run/launch/nodes.h"
#include "run/node/file_hashes.h"
#include "run/process/installation.h"
#include "run/process/interrupt.h"

namespace assay::run {

// Ranks that a launch engine has started, each with its agent.
class RankJob {
 public:
  // tell: hears what a user must know meanwhile, such as the address at which to join.
  using Tell = std::function<void(const std::string&)>;

  // Starts the ranks, or waits for those that others start, and checks that the world is whole, of
  // one size, of one build and on the nodes that were asked for. Errors name the ranks that are
  // missing or wrong; the launcher's last words follow. The installation outlives the job.
  static Result<std::unique_ptr<RankJob>> start(const Installation& installation,
                                                const LaunchRequest& request,
                                                const LaunchSize& size, Interrupt* interrupt,
                                                const Tell& tell);

  const LaunchNodes& nodes() const { return world_.nodes; }
  const std::vector<wire::Join>& places() const { return world_.places; }
  const std::string& engine() const { return places().front().engine; }
  Seats seats(int world_size, int case_nodes, bool on_cuda) const {
    return seats_for(world_.places, world_.nodes, world_size, case_nodes, on_cuda);
  }

  // Runs the launcher's command once more where a rank of the seats is lost. Errors: that fails,
  // now or before, and the launch stays as it was; the user stops it.
  Result<void> bring_back(const std::vector<Seat>& seats);
  // Starts a worker on each seat, once lost ranks are back; they connect to listener(). Errors: as
  // bring_back(); the rendezvous cannot be bound or reached.
  Result<std::vector<std::unique_ptr<RankProcess>>> start_workers(const std::vector<Seat>& seats,
                                                                  const std::string& token);
  wire::Listener& listener() { return listener_; }
  std::shared_ptr<Agent> agent(std::size_t rank) { return world_.agents.at(rank); }
  // Compares each file with that of the seats' nodes; "" where all are the same.
  std::string other_files(const std::vector<Seat>& seats, const std::vector<std::string>& files);

 private:
  RankJob(const Installation& installation, const LaunchRequest& request, const LaunchSize& size,
          Interrupt* interrupt)
      : installation_(installation), request_(request), size_(size), interrupt_(interrupt) {}

  // The ranks of a launch that is whole.
  struct World {
    std::vector<std::shared_ptr<Agent>> agents;  // by rank
    std::vector<wire::Join> places;
    LaunchNodes nodes;
  };
  // there: ranks that need not be started, by number.
  Result<World> bring_up(std::vector<std::shared_ptr<Agent>> there);
  Result<World> checked(std::vector<std::shared_ptr<Agent>> agents);
  void take(World world);
  // Why a rank of the seats is lost; "" while none is.
  std::string lost(const std::vector<Seat>& seats);
  Result<void> launch_again(const std::string& why);
  struct Rendezvous {
    std::string host;
    int port = 0;
  };
  Result<Rendezvous> meet(const std::vector<Seat>& seats);

  const Installation& installation_;
  const LaunchRequest request_;
  const LaunchSize size_;
  Interrupt* interrupt_;
  std::string control_;  // where ranks find this host
  std::string token_;
  std::string given_up_;  // why the command is not run again
  wire::Listener listener_;
  std::vector<Process> commands_;
  World world_;
  FileHashes hashes_;
};

}  // namespace assay::run
