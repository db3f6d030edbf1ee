#include "figures.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace assay::memory {

namespace {

constexpr const char* outside = "(outside of ranges)";

// "forward;block;attention" of forward;block 3;attention.
std::string collapsed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ";") + kernels::without_number(name);
  }
  return text.empty() ? outside : text;
}

const std::string& operator_name(const History& history, const Origin& origin) {
  return history.operators[static_cast<std::size_t>(origin.op)];
}

void add_stretch(const std::vector<Event>& events, std::size_t begin, std::size_t end,
                 Points& points) {
  std::set<std::size_t> kept = {begin, end - 1};
  const auto first = events.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = events.begin() + static_cast<std::ptrdiff_t>(end);
  const auto [least, most] = std::ranges::minmax_element(first, last, {}, &Event::allocated);
  kept.insert(static_cast<std::size_t>(least - events.begin()));
  kept.insert(static_cast<std::size_t>(most - events.begin()));
  for (const std::size_t i : kept) {
    points.times_s.push_back(events[i].time_s);
    points.allocated.push_back(static_cast<double>(events[i].allocated));
    points.reserved.push_back(static_cast<double>(events[i].reserved));
  }
}

}  // namespace

Points points_of(const History& history, std::size_t most) {
  constexpr std::size_t kept_of_a_stretch = 4;
  const std::size_t events = history.events.size();
  const std::size_t stretches =
      events <= most ? events : std::max<std::size_t>(1, most / kept_of_a_stretch);
  Points points;
  for (std::size_t i = 0; i < stretches; ++i) {
    add_stretch(history.events, events * i / stretches, events * (i + 1) / stretches, points);
  }
  return points;
}

std::vector<PhaseFigures> phase_figures(const History& history) {
  struct OfStep {
    Extent allocated, reserved;
    Bytes device = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, std::map<int, OfStep>> by_name;
  for (const Phase& phase : history.phases) {
    if (phase.name == "set-up" || phase.step == 0) continue;
    if (phase.step == 1 && history.steps > 1) continue;
    auto [steps, added] = by_name.try_emplace(phase.name);
    if (added) order.push_back(phase.name);
    const auto [at, first] = steps->second.try_emplace(
        phase.step, OfStep{phase.allocated, phase.reserved, phase.device});
    if (first) continue;
    OfStep& sum = at->second;
    const auto join = [](Extent& all, const Extent& one) {
      all = {std::min(all.least, one.least), std::max(all.most, one.most)};
    };
    join(sum.allocated, phase.allocated);
    join(sum.reserved, phase.reserved);
    sum.device = std::max(sum.device, phase.device);
  }
  std::vector<PhaseFigures> figures;
  for (const std::string& name : order) {
    PhaseFigures& of = figures.emplace_back(PhaseFigures{name});
    for (const auto& [step, sum] : by_name.at(name)) {
      of.peak.push_back(static_cast<double>(sum.allocated.most));
      of.floor.push_back(static_cast<double>(sum.allocated.least));
      of.reserved_peak.push_back(static_cast<double>(sum.reserved.most));
      of.reserved_floor.push_back(static_cast<double>(sum.reserved.least));
      of.device.push_back(static_cast<double>(sum.device));
    }
  }
  return figures;
}

std::string Allocation::from() const { return (op.empty() ? "(no operator)" : op) + " in " + path; }

std::vector<Allocation> largest_allocations(const History& history, std::size_t most) {
  std::map<std::tuple<std::string, std::string, Bytes>, Allocation> all;
  for (const Site& site : history.sites) {
    if (site.step != history.steps || site.step == 0) continue;
    const std::string path = collapsed(history.paths.names(site.origin.path));
    const std::string& op = operator_name(history, site.origin);
    Allocation& sum = all[{path, op, site.size}];
    if (sum.count == 0) sum = {op, path, site.size, 0, site.stack};
    sum.count += site.count;
  }
  std::vector<Allocation> largest;
  for (auto& [key, allocation] : all) largest.push_back(std::move(allocation));
  std::ranges::stable_sort(largest, [](const Allocation& a, const Allocation& b) {
    return std::pair(a.size, a.count) > std::pair(b.size, b.count);
  });
  if (largest.size() > most) largest.resize(most);
  return largest;
}

SavedFigures saved_figures(const History& history) {
  SavedFigures figures;
  std::map<std::string, double> operators, blocks;
  std::map<std::string, std::set<std::string>> numbered;  // block → block 0, block 1, …
  for (const Saved& saved : history.saved) {
    std::vector<std::string> names = history.paths.names(saved.origin.path);
    if (!names.empty() && names.front() == "forward") names.erase(names.begin());
    const std::string block = names.empty() ? outside : names.front();
    const auto bytes = static_cast<double>(saved.bytes);
    numbered[kernels::without_number(block)].insert(block);
    blocks[block] += bytes;
    const std::string& op = operator_name(history, saved.origin);
    operators[collapsed(names) + ": " + (op.empty() ? "(no operator)" : op)] += bytes;
    figures.total += bytes;
  }
  for (const auto& [from, bytes] : operators) {
    const std::string first = from.substr(0, from.find_first_of(";:"));
    const auto alike = numbered.find(first);
    const double parts = alike == numbered.end() ? 1 : static_cast<double>(alike->second.size());
    figures.operators.push_back({from, bytes / parts});
  }
  std::ranges::stable_sort(figures.operators, std::greater(), &SavedRow::bytes);
  for (const auto& [block, bytes] : blocks) figures.blocks.push_back({block, bytes});
  return figures;
}

}  // namespace assay::memory
