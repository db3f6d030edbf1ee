#include "run/launch/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "run/node/rank_process.h"

namespace assay::run {

namespace {

using Host = std::pair<std::string, std::string>;  // boot id, network namespace

Host host_of_place(const wire::Join& place) { return {place.boot_id, place.network}; }

// Groups ranks by what `key` says of them, in the order of their lowest ranks.
template <class Key>
std::vector<LaunchNode> grouped(const std::vector<wire::Join>& places, const Key& key) {
  std::vector<LaunchNode> nodes;
  std::map<decltype(key(places[0], 0)), std::size_t> known;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto [entry, added] = known.try_emplace(key(places[rank], rank), nodes.size());
    if (added) nodes.push_back({places[rank].node, places[rank].boot_id, {}});
    nodes[entry->second].ranks.push_back(rank);
  }
  return nodes;
}

// "n1", "n1 (2)" where two have one name.
void tell_names_apart(std::vector<LaunchNode>& nodes) {
  std::map<std::string, int> seen;
  for (LaunchNode& node : nodes) {
    if (const int count = ++seen[node.name]; count > 1) node.name += fmt::format(" ({})", count);
  }
}

std::string names_in_words(const std::vector<LaunchNode>& nodes) {
  std::vector<std::string> names;
  for (const LaunchNode& node : nodes) names.push_back(node.name);
  return join(names, ", ");
}

bool some_share_a_machine(const std::vector<LaunchNode>& nodes) {
  std::set<std::string> machines;
  for (const LaunchNode& node : nodes) machines.insert(node.boot_id);
  return machines.size() < nodes.size();
}

tl::unexpected<Error> are_one(std::size_t wanted, const std::vector<LaunchNode>& declared,
                              const std::vector<LaunchNode>& physical) {
  std::string found;
  for (const LaunchNode& node : physical) {
    found += fmt::format("{}{} run on {}", found.empty() ? "" : ", ", ranks_in_words(node.ranks),
                         node.name);
  }
  const std::string named =
      declared.size() > 1 ? fmt::format(" ({})", names_in_words(declared)) : std::string();
  return fail(ExitCode::machine_lacks,
              fmt::format("{} nodes{} are {} by boot id and network namespace: {}", wanted, named,
                          counted(physical.size(), "machine", "machines"), found),
              "--simulate-nodes lets one machine stand for several, and marks all measured so");
}

std::vector<LaunchNode> simulated_nodes(const std::vector<wire::Join>& places,
                                        const std::vector<LaunchNode>& declared, int nodes) {
  if (declared.size() > 1 || nodes < 2) return declared;
  const std::size_t each = (places.size() + static_cast<std::size_t>(nodes) - 1) / nodes;
  return grouped(places, [&](const wire::Join&, std::size_t rank) { return rank / each; });
}

// Takes the GPU that the rank would usually use, else its first that no other rank has taken.
std::optional<int> free_gpu(const std::vector<std::string>& seen, int usual,
                            const std::string& boot_id,
                            std::set<std::pair<std::string, std::string>>& taken) {
  const auto take = [&](int device) {
    return taken.emplace(boot_id, seen[static_cast<std::size_t>(device)]).second;
  };
  const int count = static_cast<int>(seen.size());
  if (usual < count && take(usual)) return usual;
  for (int device = 0; device < count; ++device) {
    if (take(device)) return device;
  }
  return std::nullopt;
}

std::string too_few_seats(const LaunchNodes& nodes, int world_size, int case_nodes) {
  std::vector<std::string> sizes;
  for (const LaunchNode& node : nodes.all) sizes.push_back(std::to_string(node.ranks.size()));
  return fmt::format("world_size {} on {} needs {} on each; the launch has {} with {}", world_size,
                     counted(case_nodes, "node", "nodes"),
                     counted(world_size / case_nodes, "rank", "ranks"),
                     counted(nodes.all.size(), "node", "nodes"), join(sizes, ", "));
}

std::string give_gpus(const std::vector<wire::Join>& places, const LaunchNodes& nodes,
                      std::vector<Seat>& seats) {
  std::set<std::pair<std::string, std::string>> taken;
  std::map<std::string, std::size_t> machines;  // to the first node on it
  for (Seat& seat : seats) {
    const LaunchNode& node = nodes.all[seat.node];
    const auto [entry, added] = machines.try_emplace(node.boot_id, seat.node);
    if (!added && entry->second != seat.node) {
      return fmt::format("nodes with GPUs need machines of their own; {} and {} are one",
                         nodes.all[entry->second].name, node.name);
    }
    const auto& seen = places[seat.rank].gpus;
    const auto device = free_gpu(seen, seat.local_rank, node.boot_id, taken);
    if (!device) {
      return fmt::format("{} on {} need a GPU each; rank {} sees {}",
                         counted(seat.local_ranks, "rank", "ranks"), node.name, seat.rank,
                         seen.empty() ? "none" : fmt::format("{}, all taken", seen.size()));
    }
    seat.device = *device;
  }
  return {};
}

}  // namespace

Result<LaunchNodes> nodes_of(const std::vector<wire::Join>& places, const AskedNodes& asked) {
  const auto physical =
      grouped(places, [](const wire::Join& place, std::size_t) { return host_of_place(place); });
  const auto declared = grouped(places, [](const wire::Join& place, std::size_t) {
    return std::tuple(place.node, place.boot_id, place.network);
  });
  const std::size_t wanted =
      std::max(declared.size(), static_cast<std::size_t>(std::max(0, asked.nodes)));
  LaunchNodes found{physical, {}};
  if (wanted > physical.size()) {
    if (!asked.simulate) return are_one(wanted, declared, physical);
    found.all = simulated_nodes(places, declared, asked.nodes);
    found.simulated = "declared by --simulate-nodes";
  } else if (some_share_a_machine(physical)) {
    found.simulated = "network namespaces";
  }
  tell_names_apart(found.all);
  if (!found.simulated.empty()) {
    const auto machines =
        grouped(places, [](const wire::Join& place, std::size_t) { return place.boot_id; });
    found.simulated = fmt::format("{} are parts of {} ({})", names_in_words(found.all),
                                  counted(machines.size(), "machine", "machines"), found.simulated);
  }
  return found;
}

Seats seats_for(const std::vector<wire::Join>& places, const LaunchNodes& nodes, int world_size,
                int case_nodes, bool on_cuda) {
  Seats seats;
  if (world_size % case_nodes != 0) {
    seats.impossible =
        fmt::format("{} ranks cannot be spread evenly over {} nodes", world_size, case_nodes);
    return seats;
  }
  const int each = world_size / case_nodes;
  int taken = 0;
  for (std::size_t node = 0; node < nodes.all.size() && taken < case_nodes; ++node) {
    const auto& ranks = nodes.all[node].ranks;
    if (static_cast<int>(ranks.size()) < each) continue;
    ++taken;
    for (int local = 0; local < each; ++local) {
      seats.all.push_back({ranks[static_cast<std::size_t>(local)], node, local, each, local});
    }
  }
  if (taken < case_nodes) {
    seats.impossible = too_few_seats(nodes, world_size, case_nodes);
  } else if (on_cuda) {
    seats.impossible = give_gpus(places, nodes, seats.all);
  }
  if (!seats.impossible.empty()) seats.all.clear();
  return seats;
}

}  // namespace assay::run
