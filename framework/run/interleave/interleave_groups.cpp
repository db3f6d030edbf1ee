#include "run/interleave/interleave_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
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

// Bytes a candidate needs of each memory: the GPUs in order, then the host.
std::vector<double> needs_of(const InterleaveCandidate& candidate, std::size_t gpus) {
  std::vector<double> needs(gpus + 1, 0);
  const double case_bytes = candidate.bytes.value_or(0);
  for (int rank = 0; rank < candidate.world_size; ++rank) {
    if (candidate.on_cuda) {
      needs[std::min(static_cast<std::size_t>(rank), gpus)] += case_bytes + cuda_worker_bytes;
    } else {
      needs[gpus] += case_bytes;
    }
    needs[gpus] += host_worker_bytes;
  }
  return needs;
}

std::vector<Memory> memories_of(const Machine& machine) {
  std::vector<Memory> memories;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    memories.push_back({machine.gpus.size() == 1 ? "the GPU" : fmt::format("GPU {}", gpu),
                        usable_share * static_cast<double>(machine.gpus[gpu].memory_bytes)});
  }
  memories.push_back({"the host", usable_share * static_cast<double>(machine.memory_bytes)});
  return memories;
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
  std::vector<std::vector<double>> needs;  // by candidate and memory
  std::vector<std::size_t> left;
  for (const InterleaveCandidate& candidate : candidates) {
    if (candidate.cannot) {
      fit.apart[candidate.case_index] = *candidate.cannot;
    } else {
      left.push_back(needs.size());
    }
    needs.push_back(needs_of(candidate, machine.gpus.size()));
  }
  for (std::size_t memory = 0; memory < memories.size() && left.size() > 1;) {
    const double sum =
        std::accumulate(left.begin(), left.end(), 0.0,
                        [&](double before, std::size_t i) { return before + needs[i][memory]; });
    if (sum <= memories[memory].usable_bytes) {
      ++memory;
      continue;
    }
    const auto largest =
        std::max_element(left.begin(), left.end(), [&](std::size_t one, std::size_t other) {
          return needs[one][memory] <= needs[other][memory];  // the last among equals
        });
    fit.apart[candidates[*largest].case_index] = fmt::format(
        "{} of them would need {} of {} by estimate, {} is usable", left.size(), human_size(sum),
        memories[memory].name, human_size(memories[memory].usable_bytes));
    left.erase(largest);
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
