#include "cli/launching.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::cli {

namespace {

constexpr const char* of_a_launch[] = {"nodes", "ranks-per-node", "gpus-per-node", "hosts",
                                       "control"};

std::string text_of(const po::variables_map& values, const char* option) {
  const auto& value = values[option].value();
  return value.type() == typeid(int) ? std::to_string(values[option].as<int>())
                                     : values[option].as<std::string>();
}

tl::unexpected<Error> needs_a_launcher(const char* option) {
  return fail(ExitCode::bad_input, fmt::format("--{} needs a --launcher other than local", option),
              "give --launcher mpi, slurm, ssh or wait");
}

}  // namespace

void add_launch_options(po::options_description& options) {
  options.add_options()(
      "launcher", po::value<std::string>()->value_name("NAME"),
      "who starts the ranks: local (this host, the default), mpi, slurm, ssh or another of "
      "configs/launchers, a .yaml file, or wait: a launch engine that starts `assay worker`")(
      "nodes", po::value<int>()->value_name("N"),
      "nodes of the launch (default: the allocation's, else as many as the cases need)")(
      "ranks-per-node", po::value<int>()->value_name("N"), "ranks on each of them (the same)")(
      "gpus-per-node", po::value<int>()->value_name("N"),
      "GPUs on each of them to ask slurm for (default: what the allocation gives)")(
      "hosts", po::value<std::string>()->value_name("A,B,…"),
      "the nodes' names, for launchers that ask for them")(
      "control", po::value<std::string>()->value_name("ADDRESS[:PORT]"),
      "this host's address at which ranks reach it (default: all it has, at a free port)")(
      "simulate-nodes", po::bool_switch(),
      "let one machine stand for several nodes; all that is measured over them is marked so")(
      "write-script", po::value<std::string>()->value_name("FILE"),
      "write the batch file that runs this command in an allocation, and run nothing");
}

Result<std::optional<run::LaunchRequest>> launch_request(const po::variables_map& values,
                                                         const run::Installation& installation) {
  const std::string name = text_or(values, "launcher", "local");
  if (name == "local") {
    for (const char* option : of_a_launch) {
      if (values.count(option) > 0) return needs_a_launcher(option);
    }
    if (values.count("write-script") > 0) return needs_a_launcher("write-script");
    if (values["simulate-nodes"].as<bool>()) return needs_a_launcher("simulate-nodes");
    return std::nullopt;
  }
  run::LaunchRequest request;
  auto launcher = run::read_launcher(installation.configs(), name);
  if (!launcher) return tl::unexpected(launcher.error());
  request.launcher = std::move(*launcher);
  for (const auto& [option, into] :
       {std::pair{"nodes", &request.nodes}, std::pair{"ranks-per-node", &request.ranks_per_node},
        std::pair{"gpus-per-node", &request.gpus_per_node}}) {
    if (values.count(option) == 0) continue;
    *into = values[option].as<int>();
    if (*into < 1 || *into > run::most_ranks) {
      return fail(ExitCode::bad_input,
                  fmt::format("--{}: {} is not within 1 to {}", option, *into, run::most_ranks));
    }
  }
  if (values.count("hosts") > 0) request.hosts = split(text_or(values, "hosts", ""), ',');
  request.control = text_or(values, "control", "");
  request.simulate_nodes = values["simulate-nodes"].as<bool>();
  if (values.count("under") > 0) {
    return fail(ExitCode::bad_input, "--under starts its profiler on this host alone",
                "leave --launcher out");
  }
  return request;
}

std::vector<std::string> launch_words(const po::variables_map& values) {
  std::vector<std::string> words;
  const auto add = [&](const char* option) {
    if (values.count(option) == 0) return;
    words.insert(words.end(), {fmt::format("--{}", option), text_of(values, option)});
  };
  add("launcher");
  for (const char* option : of_a_launch) add(option);
  if (values["simulate-nodes"].as<bool>()) words.emplace_back("--simulate-nodes");
  return words;
}

}  // namespace assay::cli
