#include "host_tree.h"

#include <algorithm>
#include <numeric>

namespace assay::kernels {

namespace {

bool is_mark(const HostEvent& event) {
  return event.name == step_range || event.name == call_range;
}

}  // namespace

bool is_engine_call(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function");
}

HostTree::HostTree(const std::vector<HostEvent>& host) : events(host) {
  order.resize(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    const Interval& first = events[static_cast<std::size_t>(a)].time;
    const Interval& second = events[static_cast<std::size_t>(b)].time;
    return first.begin != second.begin ? first.begin < second.begin : first.end > second.end;
  });
  std::unordered_map<std::uint64_t, std::size_t> by_thread;
  for (const HostEvent& event : events) {
    // A mark decides.
    by_thread[event.thread] += is_mark(event) ? events.size() : 1;
  }
  std::size_t most = 0;
  for (const auto& [thread, count] : by_thread) {
    if (count > most) {
      most = count;
      program_thread_ = thread;
    }
  }
  nest();
  find_paths();
}

void HostTree::nest() {
  parent.assign(events.size(), -1);
  exclusive.resize(events.size());
  std::unordered_map<std::uint64_t, std::vector<int>> open;
  for (const int index : order) {
    const auto at = static_cast<std::size_t>(index);
    const HostEvent& event = events[at];
    exclusive[at] = event.time.length();
    if (event.id != 0) by_id_.emplace(event.id, index);
    if (event.thread == program_thread_) program_order_.push_back(index);
    std::vector<int>& callers = open[event.thread];
    const auto ended = [&](int caller) {
      const Nanoseconds end = events[static_cast<std::size_t>(caller)].time.end;
      return end <= event.time.begin || end < event.time.end;
    };
    while (!callers.empty() && ended(callers.back())) callers.pop_back();
    if (!callers.empty()) {
      parent[at] = callers.back();
      exclusive[static_cast<std::size_t>(callers.back())] -= event.time.length();
    }
    callers.push_back(index);
  }
}

int HostTree::innermost_at(Nanoseconds time) const {
  const auto after = std::ranges::upper_bound(program_order_, time, {}, [&](int index) {
    return events[static_cast<std::size_t>(index)].time.begin;
  });
  if (after == program_order_.begin()) return -1;
  int found = *(after - 1);
  while (found >= 0 && events[static_cast<std::size_t>(found)].time.end <= time) {
    found = parent[static_cast<std::size_t>(found)];
  }
  return found;
}

int HostTree::of_id(std::uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? -1 : found->second;
}

int HostTree::base_of(int event) const {
  const auto at = static_cast<std::size_t>(event);
  if (parent[at] >= 0) return path[static_cast<std::size_t>(parent[at])];
  if (events[at].thread == program_thread_) return Paths::none;
  const int around = innermost_at(events[at].time.begin);
  return around < 0 ? Paths::none : path[static_cast<std::size_t>(around)];
}

int HostTree::path_of(int index, const Made& made) {
  const HostEvent& event = events[static_cast<std::size_t>(index)];
  const int base = base_of(index);
  if (event.kind == HostEvent::Kind::range) {
    return is_mark(event) ? base : paths.child(base, event.name);
  }
  if (event.kind != HostEvent::Kind::backward || event.sequence < 0) return base;
  // Within another node its path is already this one's.
  const int caller = parent[static_cast<std::size_t>(index)];
  if (caller >= 0) {
    const HostEvent& around = events[static_cast<std::size_t>(caller)];
    if (around.kind == HostEvent::Kind::backward && !is_engine_call(around.name)) return base;
  }
  const auto thread = made.find(event.forward_thread);
  if (thread == made.end()) return base;
  // The last event that began while the node was still to be made.
  const auto after = std::ranges::upper_bound(thread->second, event.sequence, {},
                                              &Made::mapped_type::value_type::first);
  if (after == thread->second.begin()) return base;
  return paths.below(base, path[static_cast<std::size_t>((after - 1)->second)]);
}

// The engine's call around a node adds up what the node made.
void HostTree::lend_path_to_engine(int node) {
  const int caller = parent[static_cast<std::size_t>(node)];
  if (caller < 0 || events[static_cast<std::size_t>(node)].kind != HostEvent::Kind::backward)
    return;
  if (!is_engine_call(events[static_cast<std::size_t>(caller)].name)) return;
  path[static_cast<std::size_t>(caller)] = path[static_cast<std::size_t>(node)];
}

void HostTree::find_paths() {
  path.assign(events.size(), Paths::none);
  Made made;
  for (const int index : order) {
    const HostEvent& event = events[static_cast<std::size_t>(index)];
    path[static_cast<std::size_t>(index)] = path_of(index, made);
    lend_path_to_engine(index);
    if (event.kind == HostEvent::Kind::backward || event.sequence < 0) continue;
    auto& numbers = made[event.thread];
    if (numbers.empty() || numbers.back().first <= event.sequence) {
      numbers.emplace_back(event.sequence, index);
    }
  }
}

}  // namespace assay::kernels
