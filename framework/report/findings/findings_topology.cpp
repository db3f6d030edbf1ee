#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "report/findings/findings.h"
#include "store/records/identity.h"

namespace assay::report {
namespace {

using nlohmann::json;

// "0-2,5" → 0, 1, 2, 5. What is no such list gives no cores.
std::set<int> cores_of(const std::string& text) {
  std::set<int> cores;
  for (const std::string& run : split(text, ',')) {
    int first = 0, last = 0;
    const int read = std::sscanf(run.c_str(), "%d-%d", &first, &last);
    if (read < 1) return {};
    if (read == 1) last = first;
    for (int core = first; core <= last && last - first < 65536; ++core) cores.insert(core);
  }
  return cores;
}

// A way as it is stored (docs/results.md), in words.
std::string way_in_words(const std::string& way) {
  static const std::map<std::string, const char*> words = {
      {"PIX", "one PCIe switch"},
      {"PXB", "several PCIe switches"},
      {"PHB", "a PCIe host bridge"},
      {"NODE", "PCIe host bridges of one NUMA node"},
      {"SYS", "the link between NUMA nodes"}};
  const auto word = words.find(way);
  return word == words.end() ? way : word->second;
}

// "GPUs 0 and 1, 0 and 2 are joined by NVLink (18 links each)".
std::vector<std::string> links_in_words(const json& gpus) {
  std::map<std::string, std::vector<std::string>> pairs;
  std::map<std::string, std::int64_t> nvlinks;
  for (std::size_t from = 0; from < gpus.size(); ++from) {
    const json& ways = member_of(gpus[from], "ways");
    for (std::size_t to = from + 1; to < ways.size() && to < gpus.size(); ++to) {
      const std::string way = ways[to].is_string() ? ways[to].get<std::string>() : "";
      if (way.empty()) continue;
      pairs[way].push_back(fmt::format("{} and {}", from, to));
      if (way == "NVLink") nvlinks[way] = integer_at<std::int64_t>(gpus[from], "nvlinks");
    }
  }
  std::vector<std::string> words;
  for (const auto& [way, between] : pairs) {
    words.push_back(
        fmt::format("GPUs {} are joined by {}", join(between, ", "), way_in_words(way)));
    if (nvlinks[way] > 0) words.back() += fmt::format(" ({} links each)", nvlinks[way]);
  }
  return words;
}

std::vector<std::string> places_in_words(const json& gpus) {
  std::map<std::string, std::vector<std::string>> at;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::vector<std::string> place;
    const json& numa = member_of(gpus[i], "numa");
    if (numa.is_number_integer() && numa.get<int>() >= 0) {
      place.push_back(fmt::format("NUMA node {}", numa.get<int>()));
    }
    const std::string cores = string_at(gpus[i], "cores");
    if (!cores.empty()) place.push_back("cores " + cores);
    if (!place.empty()) at[join(place, ", ")].push_back(std::to_string(i));
  }
  std::vector<std::string> words;
  for (const auto& [place, which] : at) {
    words.push_back(
        fmt::format("near {} {}: {}", which.size() > 1 ? "GPUs" : "GPU", join(which, ", "), place));
  }
  return words;
}

// bound: an engine may have given each rank cores of its own.
std::string own_cores_in_words(const json& topology, bool bound) {
  const std::string own = string_at(topology, "cores");
  if (own.empty()) return {};
  const std::set<int> of_own = cores_of(own);
  std::vector<std::string> nodes;
  for (const auto& [number, cores] : member_of(topology, "numa").items()) {
    const std::set<int> of_node = cores_of(cores.is_string() ? cores.get<std::string>() : "");
    if (std::ranges::any_of(of_own, [&](int core) { return of_node.contains(core); })) {
      nodes.push_back(number);
    }
  }
  const std::string on =
      nodes.empty()
          ? ""
          : fmt::format(" of NUMA {} {}", nodes.size() > 1 ? "nodes" : "node", join(nodes, ", "));
  if (bound) return fmt::format("the cores that were seen there are {}{}", own, on);
  return fmt::format("ranks may use cores {}{}, and are bound to none of them", own, on);
}

std::string sentence(const json& machine, const std::string& node, bool bound) {
  const json& topology = member_of(machine, "topology");
  const json& gpus = member_of(topology, "gpus");
  std::vector<std::string> parts = links_in_words(gpus);
  for (std::string& place : places_in_words(gpus)) parts.push_back(std::move(place));
  if (std::string own = own_cores_in_words(topology, bound); !own.empty())
    parts.push_back(std::move(own));
  if (parts.empty()) return {};
  std::string name = node.empty() ? string_at(machine, "host") : node;
  if (name.empty()) name = "the machine";
  return fmt::format("**Topology of {}**: {}.", name, join(parts, "; "));
}

// One of each node; of a session without nodes one of its machine. Ranks that another program has
// started are bound as it says.
std::vector<std::string> sentences_of(const json& machine) {
  const bool started_by_others = !string_at(machine, "engine").empty();
  const json& nodes = member_of(machine, "nodes");
  if (!nodes.is_array() || nodes.empty()) return {sentence(machine, "", started_by_others)};
  std::vector<std::string> sentences;
  for (const json& node : nodes) {
    sentences.push_back(
        sentence(member_of(node, "machine"), string_at(node, "name"), started_by_others));
  }
  return sentences;
}

}  // namespace

std::vector<std::string> topology_findings(const Records& records, const RecordIds& ids) {
  std::vector<std::string> sentences;
  for (const std::uint32_t id : ids) {
    const auto source = static_cast<std::size_t>(number_at(records, id, source_axis));
    if (records[id].result == nullptr || source >= records.sources().size()) continue;
    const json& machine =
        store::session_of(records.sources()[source]->info, records[id].result->session).machine;
    if (!machine.is_object()) continue;
    for (std::string& text : sentences_of(machine)) {
      if (text.empty() || std::ranges::count(sentences, text) > 0) continue;
      sentences.push_back(std::move(text));
    }
  }
  return sentences;
}

}  // namespace assay::report
