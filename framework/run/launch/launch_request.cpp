#include "run/launch/launch_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/shell_command.h"
#include "base/text.h"

namespace assay::run {

namespace {

Result<int> of_allocation(const std::string& name, const Variables& variables) {
  if (name.empty()) return 0;
  const auto text = variables(name.c_str());
  if (!text) return 0;
  int value = 0;
  const char* end = text->data() + text->size();
  if (std::from_chars(text->data(), end, value).ptr == end && value > 0) return value;
  return fail(ExitCode::bad_input, fmt::format("{}: '{}' is no number of at least 1", name, *text));
}

std::string number_or_empty(int number) { return number > 0 ? std::to_string(number) : ""; }

bool has_empty_placeholder(const std::string& line,
                           const std::map<std::string, std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const auto& name) {
    return name.second.empty() && line.find("{" + name.first + "}") != std::string::npos;
  });
}

}  // namespace

std::map<std::string, std::string> names_of(const LaunchRequest& request, const LaunchSize& size) {
  return {{"ranks", std::to_string(size.ranks())},
          {"nodes", std::to_string(size.nodes)},
          {"ranks_per_node", std::to_string(size.ranks_per_node)},
          {"ranks_per_machine",
           std::to_string(request.simulate_nodes ? size.ranks() : size.ranks_per_node)},
          {"gpus_per_node", number_or_empty(request.gpus_per_node)},
          {"hosts", join(request.hosts, ",")}};
}

Result<LaunchSize> size_of(const LaunchRequest& request, const LaunchSize& needed,
                           const Variables& variables) {
  const auto nodes = of_allocation(request.launcher.nodes, variables);
  if (!nodes) return tl::unexpected(nodes.error());
  const auto ranks = of_allocation(request.launcher.ranks, variables);
  if (!ranks) return tl::unexpected(ranks.error());
  LaunchSize size = needed;
  const int hosts = static_cast<int>(request.hosts.size());
  const int there = *nodes > 0 ? *nodes : hosts;
  if (there > 0) size.nodes = std::min(size.nodes, there);
  if (request.nodes > 0) size.nodes = request.nodes;
  if (*ranks > 0 && *nodes > 0) {
    size.ranks_per_node = std::min(size.ranks_per_node, std::max(1, *ranks / *nodes));
  }
  if (request.ranks_per_node > 0) size.ranks_per_node = request.ranks_per_node;
  return size;
}

Result<void> check_request(const LaunchRequest& request, const LaunchSize& size) {
  const std::size_t hosts = request.hosts.size();
  if (request.launcher.uses("host") && hosts < static_cast<std::size_t>(size.nodes)) {
    return fail(
        ExitCode::bad_input,
        fmt::format("--launcher {} starts ranks on {} and --hosts names {}", request.launcher.name,
                    counted(static_cast<std::size_t>(size.nodes), "node", "nodes"),
                    hosts == 0 ? "none" : std::to_string(hosts)),
        "name a host for each node, such as --hosts a,b");
  }
  if (request.gpus_per_node > 0 && !request.launcher.uses("gpus_per_node")) {
    return fail(ExitCode::bad_input,
                fmt::format("--launcher {} cannot ask for GPUs", request.launcher.name),
                "leave --gpus-per-node out: ranks take those that their node has");
  }
  return {};
}

Result<std::string> batch_script(const LaunchRequest& request, const LaunchSize& size,
                                 const std::string& command) {
  if (auto fits = check_request(request, size); !fits) return tl::unexpected(fits.error());
  if (request.launcher.script.empty()) {
    return fail(ExitCode::bad_input,
                fmt::format("the launcher {} has no batch script", request.launcher.name),
                "--launcher slurm has one; a launcher's file gives it as `script`");
  }
  auto names = names_of(request, size);
  names["command"] = command;
  std::vector<std::string> lines = split(request.launcher.script, '\n');
  std::erase_if(lines, [&](const std::string& line) { return has_empty_placeholder(line, names); });
  return filled_in(join(lines, "\n"), names, [](const char* name) {
    auto value = own_variables()(name);
    if (value) value = shell_command({*value});
    return value;
  });
}

}  // namespace assay::run
