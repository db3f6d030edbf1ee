#include "run/cases/topology.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/text.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  const auto text = read_file(file.string());
  return text ? std::string(trim(*text)) : std::string();
}

std::optional<int> number_of(const fs::path& file) {
  const std::string text = text_of(file);
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The cores of each NUMA node: {"0": "0-15"}.
nlohmann::json numa_nodes(const fs::path& root) {
  nlohmann::json nodes = nlohmann::json::object();
  const fs::path folder = root / "sys/devices/system/node";
  for (const std::string& name : entries_of(folder)) {
    constexpr std::string_view prefix = "node";
    const std::string cores = text_of(folder / name / "cpulist");
    if (name.starts_with(prefix) && !cores.empty()) nodes[name.substr(prefix.size())] = cores;
  }
  return nodes;
}

// Of this machine itself: bridges and the ends of virtual links come and go with containers.
nlohmann::json network_cards(const fs::path& root) {
  nlohmann::json cards = nlohmann::json::array();
  const fs::path ethernet = root / "sys/class/net";
  for (const std::string& name : entries_of(ethernet)) {
    if (!fs::exists(ethernet / name / "device")) continue;
    nlohmann::json card = {{"name", name}};
    const auto speed = number_of(ethernet / name / "speed");
    if (speed && *speed > 0) card["megabits_per_s"] = *speed;
    if (const auto numa = number_of(ethernet / name / "device/numa_node")) card["numa"] = *numa;
    cards.push_back(std::move(card));
  }
  const fs::path infiniband = root / "sys/class/infiniband";
  for (const std::string& name : entries_of(infiniband)) {
    const std::string rate = text_of(infiniband / name / "ports/1/rate");
    cards.push_back({{"name", name}, {"rate", rate}});
    if (const auto numa = number_of(infiniband / name / "device/numa_node")) {
      cards.back()["numa"] = *numa;
    }
  }
  return cards;
}

nlohmann::json gpu_places(const health::GpuSource& gpus, const fs::path& root) {
  nlohmann::json places = nlohmann::json::array();
  for (std::size_t device = 0; device < gpus.gpus().size(); ++device) {
    const health::GpuPlace place = gpus.place_of(static_cast<int>(device));
    nlohmann::json told = {{"nvlinks", place.nvlinks}, {"ways", place.ways}};
    if (!place.pci_address.empty()) {
      told["pci"] = place.pci_address;
      const fs::path folder = root / "sys/bus/pci/devices" / place.pci_address;
      if (const auto numa = number_of(folder / "numa_node")) told["numa"] = *numa;
      const std::string cores = text_of(folder / "local_cpulist");
      if (!cores.empty()) told["cores"] = cores;
    }
    places.push_back(std::move(told));
  }
  return places;
}

std::string usable_cores(const fs::path& root) {
  for (const std::string& line : split(text_of(root / "proc/self/status"), '\n')) {
    constexpr std::string_view key = "Cpus_allowed_list:";
    if (line.starts_with(key)) return std::string(trim(std::string_view(line).substr(key.size())));
  }
  return {};
}

}  // namespace

nlohmann::json probe_topology(const health::GpuSource& gpus, const std::string& root) {
  const fs::path top = root.empty() ? "/" : root;
  return {{"cores", usable_cores(top)},
          {"numa", numa_nodes(top)},
          {"networks", network_cards(top)},
          {"gpus", gpu_places(gpus, top)}};
}

}  // namespace assay::run
