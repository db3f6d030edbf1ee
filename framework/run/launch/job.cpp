#include "run/launch/job.h"

#include <fmt/format.h>

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "run/launch/gathering.h"
#include "run/node/node.h"
#include "wire/messages.h"

namespace assay::run {

namespace {

Result<Process> start_command(const LaunchRequest& request,
                              const std::map<std::string, std::string>& names,
                              const std::string& control, const std::string& token) {
  Process::Command command;
  auto words = command_of(request.launcher, names, own_variables());
  if (!words) return tl::unexpected(words.error());
  command.arguments = std::move(*words);
  command.standard_input = request.launcher.secret_by_input;
  if (!command.standard_input) {
    command.environment = {{wire::control_variable, control}, {wire::token_variable, token}};
  }
  auto process = Process::start(command);
  if (!process || !command.standard_input) return process;
  const std::string lines = control + "\n" + token + "\n";
  static_cast<void>(!::write(process->input().number(), lines.data(), lines.size()));
  process->input().close();
  return process;
}

// commands: of each rank, where each has its own; those that do not run are started.
Result<void> start_commands(const Installation& installation, const LaunchRequest& request,
                            const LaunchSize& size, const std::string& control,
                            const std::string& token, std::vector<Process>& commands) {
  if (request.launcher.command.empty()) return {};
  auto names = names_of(request, size);
  names["assay"] = installation.executable.string();
  names["assay_prefix"] = installation.executable.parent_path().parent_path().string();
  const int count = request.launcher.each_rank ? size.ranks() : 1;
  commands.resize(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    Process& command = commands[static_cast<std::size_t>(rank)];
    if (command.started()) continue;
    const auto node = static_cast<std::size_t>(rank / size.ranks_per_node);
    names["rank"] = std::to_string(rank);
    names["local_rank"] = std::to_string(rank % size.ranks_per_node);
    names["node"] = std::to_string(node);
    if (request.launcher.uses("host")) names["host"] = request.hosts.at(node);
    auto process = start_command(request, names, control, token);
    if (!process) return tl::unexpected(process.error());
    command = std::move(*process);
  }
  return {};
}

Result<wire::Listener> listen_at(const std::string& control) {
  const std::size_t colon = control.rfind(':');
  const std::string host = control.empty() ? "0.0.0.0" : control.substr(0, colon);
  int port = 0;
  if (colon != std::string::npos) {
    const char* end = control.data() + control.size();
    if (std::from_chars(control.data() + colon + 1, end, port).ptr != end || port < 0 ||
        port > 65535) {
      return fail(ExitCode::bad_input, fmt::format("--control: '{}' is no address", control),
                  "write an address of this machine, such as 10.0.0.1 or 10.0.0.1:4000");
    }
  }
  auto listener = wire::Listener::on(host, port);
  if (listener) return listener;
  return fail(listener.error().exit_code, "--control: " + listener.error().text(),
              "name an address of this machine and a free port, or no port");
}

// Of those that start the ranks themselves the user gives both sides the same.
std::string token_of_job() {
  const char* given = std::getenv(wire::token_variable);
  return given == nullptr || *given == '\0' ? random_token() : given;
}

}  // namespace

Result<std::unique_ptr<RankJob>> RankJob::start(const Installation& installation,
                                                const LaunchRequest& request,
                                                const LaunchSize& size, Interrupt* interrupt,
                                                const Tell& tell) {
  const Launcher& launcher = request.launcher;
  if (!launcher.allocated.empty() && !own_variables()(launcher.allocated.c_str())) {
    return fail(ExitCode::machine_lacks,
                fmt::format("--launcher {} works within an allocation: {} is not set",
                            launcher.name, launcher.allocated),
                "--write-script FILE writes the batch file that runs this command in one");
  }
  if (auto limit = wire::silence_limit(); !limit) return tl::unexpected(limit.error());
  if (auto fits = check_request(request, size); !fits) return tl::unexpected(fits.error());
  auto listener = listen_at(request.control);
  if (!listener) return tl::unexpected(listener.error());
  std::unique_ptr<RankJob> job(new RankJob(installation, request, size, interrupt));
  job->listener_ = std::move(*listener);
  job->control_ = job->listener_.address();
  job->token_ = token_of_job();
  if (launcher.command.empty()) {
    const bool known = std::getenv(wire::token_variable) != nullptr;
    tell(
        fmt::format("waiting for ranks; let the launch engine start `assay worker` with\n"
                    "  {}={} {}={}\n",
                    wire::control_variable, job->control_, wire::token_variable,
                    known ? "(as it is set here)" : job->token_));
  }
  auto world = job->bring_up({});
  if (!world) return tl::unexpected(world.error());
  job->take(std::move(*world));
  return job;
}

Result<RankJob::World> RankJob::bring_up(std::vector<std::shared_ptr<Agent>> there) {
  auto started = start_commands(installation_, request_, size_, control_, token_, commands_);
  if (!started) return tl::unexpected(started.error());
  const int ranks = request_.launcher.command.empty() ? 0 : size_.ranks();
  auto agents = gather(listener_, token_, ranks, commands_, interrupt_, std::move(there));
  if (!agents) return tl::unexpected(agents.error());
  return checked(std::move(*agents));
}

Result<RankJob::World> RankJob::checked(std::vector<std::shared_ptr<Agent>> agents) {
  World world{std::move(agents), {}, {}};
  const std::string own = hashes_.of(installation_.worker_library.string());
  for (const auto& agent : world.agents) {
    const wire::Join& place = world.places.emplace_back(agent->place());
    if (place.worker_sha256 == own) continue;
    return fail(ExitCode::machine_lacks,
                fmt::format("{} has another build of assay: its {} has the SHA-256 {:.12}, this "
                            "host's {:.12}",
                            agent->name(), installation_.worker_library.filename().string(),
                            place.worker_sha256.empty() ? "(no file)" : place.worker_sha256, own),
                "install the same build at the same path on every node");
  }
  auto nodes = nodes_of(world.places, {request_.nodes, request_.simulate_nodes});
  if (!nodes) return tl::unexpected(nodes.error());
  world.nodes = std::move(*nodes);
  return world;
}

void RankJob::take(World world) {
  world_ = std::move(world);
  for (const LaunchNode& node : world_.nodes.all) {
    for (const std::size_t rank : node.ranks) world_.agents[rank]->call_node(node.name);
  }
  const std::string own_boot_id = this_node().boot_id;
  for (const auto& agent : world_.agents) agent->compare_clocks(own_boot_id);
}

std::string RankJob::lost(const std::vector<Seat>& seats) {
  for (const Seat& seat : seats) {
    Agent& agent = *world_.agents[seat.rank];
    agent.update();
    if (!agent.lost().empty()) {
      return fmt::format("{} is out of reach: {}", agent.name(), agent.lost());
    }
  }
  return {};
}

Result<void> RankJob::bring_back(const std::vector<Seat>& seats) {
  const std::string why = lost(seats);
  return why.empty() ? Result<void>() : launch_again(why);
}

// Runs again what has lost its ranks: the command of each of them, or the one of all.
Result<void> RankJob::launch_again(const std::string& why) {
  if (given_up_.empty() && request_.launcher.command.empty()) given_up_ = "nobody starts it again";
  if (!given_up_.empty()) return fail(ExitCode::machine_lacks, why + "; " + given_up_);
  const bool each = request_.launcher.each_rank;
  auto there = world_.agents;
  const auto end_what_is_not_there = [&] {
    for (std::size_t rank = 0; rank < there.size(); ++rank) {
      if (there[rank] == nullptr) commands_[each ? rank : 0] = {};
    }
  };
  for (auto& agent : there) {
    if (!each || !agent->lost().empty()) agent = nullptr;
  }
  end_what_is_not_there();
  auto world = bring_up(there);
  if (world && world->nodes.all.size() != world_.nodes.all.size()) {
    world = fail(ExitCode::machine_lacks,
                 fmt::format("{} nodes came instead of {}", world->nodes.all.size(),
                             world_.nodes.all.size()));
  }
  if (world) {
    take(std::move(*world));
    return {};
  }
  end_what_is_not_there();
  if (is_stopped_by_user(world.error())) return tl::unexpected(world.error());
  given_up_ = "the launcher was run again, and failed: " + world.error().text();
  return fail(ExitCode::machine_lacks, why + "; " + given_up_);
}

// Rank 0 binds a port; each other rank tries whether it reaches the machine there.
Result<RankJob::Rendezvous> RankJob::meet(const std::vector<Seat>& seats) {
  Agent& first = *world_.agents[seats.front().rank];
  const wire::Join& place = first.place();
  const bool named = place.address != first.peer_address();
  const auto bound =
      first.asked("bind", {{"host", named ? "0.0.0.0" : place.address}, {"port", place.port}});
  if (!bound) return tl::unexpected(bound.error());
  Rendezvous found{place.address, integer_at<int>(*bound, "port")};
  const std::string probe = fmt::format("{}:{}", found.host, integer_at<int>(*bound, "probe"));
  std::vector<std::pair<Agent*, int>> calls;
  for (const Seat& seat : seats) {
    Agent& agent = *world_.agents[seat.rank];
    calls.emplace_back(&agent, agent.ask("reach", {{"address", probe}}));
  }
  for (const auto& [agent, call] : calls) {
    if (const auto reached = agent->answer(call, patience); !reached) {
      return fail(ExitCode::machine_lacks,
                  fmt::format("the rendezvous at rank {} cannot be reached: {}", seats.front().rank,
                              reached.error().text()),
                  "MASTER_ADDR, where it is set, must name rank 0's machine for all");
    }
  }
  return found;
}

Result<std::vector<std::unique_ptr<RankProcess>>> RankJob::start_workers(
    const std::vector<Seat>& seats, const std::string& token) {
  if (auto back = bring_back(seats); !back) return tl::unexpected(back.error());
  Rendezvous rendezvous;
  if (seats.size() > 1) {
    auto met = meet(seats);
    if (!met) return tl::unexpected(met.error());
    rendezvous = std::move(*met);
  }
  const std::string silence =
      fmt::format("{} s", wire::silence_limit().value_or(wire::usual_silence).count());
  std::vector<std::unique_ptr<RankProcess>> ranks;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    const Seat& seat = seats[rank];
    const auto& agent = world_.agents[seat.rank];
    wire::StartWorker start;
    start.environment = {
        {wire::control_variable, fmt::format("{}:{}", agent->host_address(), listener_.port())},
        {wire::token_variable, token},
        {wire::address_variable, agent->peer_address()},
        {wire::silence_variable, silence},
        {"RANK", std::to_string(rank)},
        {"LOCAL_RANK", std::to_string(seat.device)},
        {"LOCAL_WORLD_SIZE", std::to_string(seat.local_ranks)},
        {"WORLD_SIZE", std::to_string(seats.size())},
        {"MASTER_ADDR", rendezvous.host},
        {"MASTER_PORT", std::to_string(rendezvous.port)}};
    start.at_rendezvous = rank == 0 && seats.size() > 1;
    start.share = seat.local_ranks;
    ranks.push_back(std::make_unique<AgentRank>(agent, agent->start(std::move(start))));
  }
  return ranks;
}

std::string RankJob::other_files(const std::vector<Seat>& seats,
                                 const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string own = hashes_.of(file);
    std::vector<std::pair<Agent*, int>> calls;
    for (const Seat& seat : seats) {
      Agent& agent = *world_.agents[seat.rank];
      calls.emplace_back(&agent, agent.ask("hash", {{"file", file}}));
    }
    for (const auto& [agent, call] : calls) {
      const auto said = agent->answer(call, long_patience);
      if (!said) return said.error().text();
      const std::string theirs = string_at(*said, "sha256");
      if (theirs == own) continue;
      return fmt::format("{} {} of '{}'; every rank needs the host's, at the same path",
                         agent->name(), theirs.empty() ? "has no copy" : "has another build", file);
    }
  }
  return {};
}

}  // namespace assay::run
