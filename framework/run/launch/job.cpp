#include "run/launch/job.h"

#include <fmt/format.h>

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "run/launch/gathering.h"
#include "run/launch/node.h"
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
  if (auto up = job->bring_up(); !up) return tl::unexpected(up.error());
  return job;
}

Result<void> RankJob::bring_up() {
  auto started = start_commands(installation_, request_, size_, control_, token_, commands_);
  if (!started) return started;
  const int ranks = request_.launcher.command.empty() ? 0 : size_.ranks();
  auto agents = gather(listener_, token_, ranks, commands_, interrupt_, agents_);
  if (!agents) return tl::unexpected(agents.error());
  agents_ = std::move(*agents);
  places_.clear();
  for (const auto& agent : agents_) places_.push_back(agent->place());
  return check();
}

Result<void> RankJob::check() {
  const std::string own = hashes_.of(installation_.worker_library.string());
  for (const auto& agent : agents_) {
    if (agent->place().worker_sha256 != own) {
      return fail(ExitCode::machine_lacks,
                  fmt::format("{} has another build of assay: its {} has the SHA-256 {:.12}, this "
                              "host's {:.12}",
                              agent->name(), installation_.worker_library.filename().string(),
                              agent->place().worker_sha256.empty() ? "(no file)"
                                                                   : agent->place().worker_sha256,
                              own),
                  "install the same build at the same path on every node");
    }
  }
  auto nodes = nodes_of(places_, {request_.nodes, request_.simulate_nodes});
  if (!nodes) return tl::unexpected(nodes.error());
  nodes_ = std::move(*nodes);
  for (const LaunchNode& node : nodes_.all) {
    for (const std::size_t rank : node.ranks) agents_[rank]->call_node(node.name);
  }
  const std::string own_boot_id = this_node().boot_id;
  for (const auto& agent : agents_) agent->compare_clocks(own_boot_id);
  return {};
}

std::string RankJob::lost(const std::vector<Seat>& seats) {
  for (const Seat& seat : seats) {
    Agent& agent = *agents_[seat.rank];
    agent.update();
    if (!agent.lost().empty()) {
      return fmt::format("{} is out of reach: {}", agent.name(), agent.lost());
    }
  }
  return {};
}

// Runs again what has lost its ranks: the command of each of them, or the one of all.
Result<void> RankJob::launch_again(const std::string& why) {
  if (given_up_.empty() && request_.launcher.command.empty()) given_up_ = "nobody starts it again";
  if (!given_up_.empty()) return fail(ExitCode::machine_lacks, why + "; " + given_up_);
  const auto before = agents_;
  const std::size_t nodes = nodes_.all.size();
  for (std::size_t rank = 0; rank < agents_.size(); ++rank) {
    const bool each = request_.launcher.each_rank;
    if (each && agents_[rank]->lost().empty()) continue;
    commands_[each ? rank : 0] = {};  // ends what is left of it
    agents_[rank] = nullptr;
  }
  auto up = bring_up();
  if (up && nodes_.all.size() != nodes) {
    up = fail(ExitCode::machine_lacks,
              fmt::format("{} nodes came instead of {}", nodes_.all.size(), nodes));
  }
  if (up) return {};
  agents_ = before;
  given_up_ = "the launcher was run again, and failed: " + up.error().text();
  return fail(ExitCode::machine_lacks, why + "; " + given_up_);
}

// Rank 0 binds a port; each other rank tries whether it reaches the machine there.
Result<RankJob::Rendezvous> RankJob::meet(const std::vector<Seat>& seats) {
  Agent& first = *agents_[seats.front().rank];
  const wire::Join& place = first.place();
  const bool named = place.address != first.peer_address();
  const auto bound =
      first.asked("bind", {{"host", named ? "0.0.0.0" : place.address}, {"port", place.port}});
  if (!bound) return tl::unexpected(bound.error());
  Rendezvous found{place.address, integer_at<int>(*bound, "port")};
  const std::string probe = fmt::format("{}:{}", found.host, integer_at<int>(*bound, "probe"));
  std::vector<std::pair<Agent*, int>> calls;
  for (const Seat& seat : seats) {
    Agent& agent = *agents_[seat.rank];
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
  if (const std::string why = lost(seats); !why.empty()) {
    if (auto again = launch_again(why); !again) return tl::unexpected(again.error());
  }
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
    const auto& agent = agents_[seat.rank];
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
      Agent& agent = *agents_[seat.rank];
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
