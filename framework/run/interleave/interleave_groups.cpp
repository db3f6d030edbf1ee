#include "run/interleave/interleave_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "config/host_parameters.h"

namespace assay::run {

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

std::set<std::string> tied_names(const config::Experiment& experiment, const std::string& axis) {
  for (const config::Axis& candidate : experiment.matrix) {
    std::set<std::string> names(candidate.names.begin(), candidate.names.end());
    if (names.contains(axis)) return names;
  }
  return {axis};
}

bool belongs_to(const std::string& column, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return column == name || column.starts_with(name + ".");
  });
}

std::vector<std::size_t> shared_columns(const config::Experiment& experiment,
                                        const config::Plan& plan, const std::string& axis) {
  const std::set<std::string> names = tied_names(experiment, axis);
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < plan.columns().size(); ++column) {
    if (!belongs_to(plan.columns()[column].name, names)) columns.push_back(column);
  }
  return columns;
}

std::string key_of(const config::Plan& plan, std::size_t index,
                   const std::vector<std::size_t>& columns) {
  std::string key;
  for (const std::size_t column : columns) {
    const std::uint32_t place = plan.place_of(index, column);
    key.append(reinterpret_cast<const char*>(&place), sizeof place);
  }
  return key;
}

}  // namespace

InterleaveGroups::InterleaveGroups(const config::Experiment& experiment, const config::Plan& plan) {
  const auto setting = plan.column(config::interleave_setting);
  if (!setting) return;
  const std::vector<Value>& axes = plan.columns()[*setting].values;
  const bool off = std::all_of(axes.begin(), axes.end(),
                               [](const Value& axis) { return to_text(axis).empty(); });
  if (off) return;
  of_case_.assign(plan.size(), none);
  std::map<std::string, std::vector<std::size_t>> columns;  // by axis
  std::unordered_map<std::string, std::size_t> groups;      // by what their cases share
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const std::string axis = to_text(plan.at(index, *setting));
    if (axis.empty()) continue;
    const auto [shared, first] = columns.try_emplace(axis);
    if (first) shared->second = shared_columns(experiment, plan, axis);
    // The shared columns include the setting: groups over two axes stay apart.
    const auto [group, added] =
        groups.try_emplace(key_of(plan, index, shared->second), all_.size());
    if (added) all_.push_back({axis, {}});
    all_[group->second].cases.push_back(index);
    of_case_[index] = group->second;
  }
}

const InterleaveGroup* InterleaveGroups::of(std::size_t case_index) const {
  if (of_case_.empty() || of_case_[case_index] == none) return nullptr;
  return &all_[of_case_[case_index]];
}

std::string name_in_group(const config::Experiment& experiment, const config::Plan& plan,
                          const InterleaveGroup& group, std::size_t case_index) {
  const std::set<std::string> names = tied_names(experiment, group.axis);
  std::vector<std::string> words;
  for (std::size_t column = 0; column < plan.columns().size(); ++column) {
    const config::Plan::Column& info = plan.columns()[column];
    const Value& value = plan.at(case_index, column);
    // values[0] stands for "not applicable": only options of several values are named.
    const bool varies = names.contains(info.name) || info.values.size() > 2;
    if (belongs_to(info.name, names) && varies && value.index() != 0) {
      words.push_back(info.name + "=" + to_text(value));
    }
  }
  return join(words, " ");
}

namespace {

struct Memory {
  std::string name;
  double usable_bytes = 0;
};

std::vector<Memory> memories_of(const Machine& machine) {
  std::vector<Memory> memories;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    memories.push_back({machine.gpus.size() == 1 ? "the GPU" : fmt::format("GPU {}", gpu),
                        usable_share * static_cast<double>(machine.gpus[gpu].memory_bytes)});
  }
  memories.push_back({"the host", usable_share * static_cast<double>(machine.memory_bytes)});
  return memories;
}

// What a candidate takes of a memory.
struct Bytes {
  double need = 0;
  double look = 0;
};

// Of each memory: the GPUs in order, then the host, on which ranks beyond the last GPU count.
std::vector<Bytes> bytes_of(const InterleaveCandidate& candidate,
                            const std::vector<Memory>& memories) {
  std::vector<Bytes> bytes(memories.size());
  const std::size_t host = memories.size() - 1;
  for (int rank = 0; rank < candidate.world_size; ++rank) {
    Bytes& own = bytes[candidate.on_cuda ? std::min(static_cast<std::size_t>(rank), host) : host];
    own.need += candidate.bytes.value_or(0) + (candidate.on_cuda ? cuda_worker_bytes : 0);
    own.look += candidate.look_bytes.value_or(0);
    bytes[host].need += host_worker_bytes;
  }
  for (std::size_t memory = 0; memory < memories.size(); ++memory) {
    auto& [need, look] = bytes[memory];
    // Alone it has no more for a look either.
    look = std::min(look, std::max(0.0, memories[memory].usable_bytes - need));
  }
  return bytes;
}

// One looks at a time.
double taken_by(const std::vector<Bytes>& several) {
  double needs = 0, look = 0;
  for (const Bytes& one : several) {
    needs += one.need;
    look = std::max(look, one.look);
  }
  return needs + look;
}

// The place of the one whose leaving helps most, of those alike the last.
std::size_t who_leaves(const std::vector<Bytes>& several) {
  std::vector<double> left;
  for (std::size_t i = 0; i < several.size(); ++i) {
    std::vector<Bytes> others = several;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    left.push_back(taken_by(others));
  }
  const double all = taken_by(several), most = all - *std::ranges::min_element(left);
  std::size_t place = several.size() - 1;
  while (all - left[place] < alike_share * most) --place;
  return place;
}

// Why the only candidate left runs apart.
std::string why_alone(const InterleaveFit& fit, const std::vector<InterleaveCandidate>& candidates,
                      std::size_t case_index) {
  std::string why = "no other case differs from it in this axis alone";
  // Memory that kept the others out kept it out too.
  for (const InterleaveCandidate& candidate : candidates) {
    if (candidate.case_index == case_index) continue;
    if (!candidate.cannot) return fit.apart.at(candidate.case_index);
    why = "the others cannot take turns";
  }
  return why;
}

}  // namespace

InterleaveFit interleave_fit(const std::vector<InterleaveCandidate>& candidates,
                             const Machine& machine) {
  InterleaveFit fit;
  const std::vector<Memory> memories = memories_of(machine);
  std::vector<std::vector<Bytes>> bytes;  // by candidate and memory
  std::vector<std::size_t> left;
  for (const InterleaveCandidate& candidate : candidates) {
    if (candidate.cannot) {
      fit.apart[candidate.case_index] = *candidate.cannot;
    } else {
      left.push_back(bytes.size());
    }
    bytes.push_back(bytes_of(candidate, memories));
  }
  for (std::size_t memory = 0; memory < memories.size() && left.size() > 1;) {
    std::vector<Bytes> several;
    for (const std::size_t i : left) several.push_back(bytes[i][memory]);
    const double taken = taken_by(several);
    if (taken <= memories[memory].usable_bytes) {
      ++memory;
      continue;
    }
    const bool looks = std::ranges::any_of(several, [](const Bytes& one) { return one.look > 0; });
    const auto leaver = left.begin() + static_cast<std::ptrdiff_t>(who_leaves(several));
    fit.apart[candidates[*leaver].case_index] =
        fmt::format("{} of them{} would need {} of {} by estimate, {} is usable", left.size(),
                    looks ? " and a look" : "", human_size(taken), memories[memory].name,
                    human_size(memories[memory].usable_bytes));
    left.erase(leaver);
  }
  if (left.size() == 1) {
    const std::size_t last = candidates[left[0]].case_index;
    fit.apart[last] = why_alone(fit, candidates, last);
    return fit;
  }
  for (const std::size_t i : left) fit.members.push_back(candidates[i].case_index);
  return fit;
}

}  // namespace assay::run
