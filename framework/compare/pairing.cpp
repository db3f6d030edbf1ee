#include "compare/pairing.h"

#include <map>
#include <set>

#include "base/case_key.h"

namespace assay::compare {
namespace {

std::string whole_key(const store::CaseResult& result) { return case_key_text(result.parameters); }

bool is_setting(const std::string& name) { return name.starts_with("measure."); }

std::string key_without_settings(const store::CaseResult& result,
                                 const std::set<std::string>& kept) {
  store::Parameters parameters = result.parameters;
  std::erase_if(parameters, [&](const auto& entry) {
    return is_setting(entry.first) && !kept.contains(entry.first);
  });
  return case_key_text(parameters);
}

struct Grouped {
  std::vector<std::string> order;
  std::map<std::string, Cases> cases;
};

Grouped group(const Side& side) {
  Grouped grouped;
  for (const store::Run& run : side.runs) {
    for (const store::CaseResult& result : run.cases) {
      const auto [at, added] = grouped.cases.try_emplace(whole_key(result));
      if (added) grouped.order.push_back(at->first);
      at->second.push_back(&result);
    }
  }
  return grouped;
}

// Indices in `pairs` of the cases that `other` lacks, by their key without settings.
std::map<std::string, std::vector<std::size_t>> unpaired(const std::vector<CasePair>& pairs,
                                                         Cases CasePair::*side,
                                                         Cases CasePair::*other,
                                                         const std::set<std::string>& kept) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if ((pairs[i].*other).empty()) {
      places[key_without_settings(*(pairs[i].*side).front(), kept)].push_back(i);
    }
  }
  return places;
}

void add_axes(const Side& side, std::set<std::string>& axes) {
  std::map<std::string, std::string> first;
  for (const store::Run& run : side.runs) {
    for (const store::CaseResult& result : run.cases) {
      for (const auto& [name, value] : result.parameters) {
        if (!is_setting(name)) continue;
        const auto [known, added] = first.try_emplace(name, assay::to_text(value));
        if (!added && known->second != assay::to_text(value)) axes.insert(name);
      }
    }
  }
}

void pair_without_settings(std::vector<CasePair>& pairs, const std::set<std::string>& kept) {
  const auto only_b = unpaired(pairs, &CasePair::b, &CasePair::a, kept);
  for (const auto& [key, places] : unpaired(pairs, &CasePair::a, &CasePair::b, kept)) {
    const auto match = only_b.find(key);
    if (match == only_b.end() || places.size() != 1 || match->second.size() != 1) continue;
    pairs[places.front()].b.swap(pairs[match->second.front()].b);
  }
  std::erase_if(pairs, [](const CasePair& pair) { return pair.a.empty() && pair.b.empty(); });
}

}  // namespace

std::vector<CasePair> pair_cases(const Side& a, const Side& b) {
  Grouped of_a = group(a);
  Grouped of_b = group(b);
  std::vector<CasePair> pairs;
  for (const std::string& key : of_a.order) {
    const auto match = of_b.cases.find(key);
    pairs.push_back({of_a.cases[key], match == of_b.cases.end() ? Cases{} : match->second});
  }
  for (const std::string& key : of_b.order) {
    if (!of_a.cases.contains(key)) pairs.push_back({{}, of_b.cases[key]});
  }
  std::set<std::string> axes;
  add_axes(a, axes);
  add_axes(b, axes);
  pair_without_settings(pairs, axes);
  pair_without_settings(pairs, {});
  return pairs;
}

}  // namespace assay::compare
