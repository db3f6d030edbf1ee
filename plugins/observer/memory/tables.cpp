#include "tables.h"

#include <fmt/format.h>

#include <set>

namespace assay::memory {

namespace {

using kernels::part_of;

void record_timeline(const History& history, Recorder& recorder) {
  const Points points = points_of(history);
  recorder.samples("sample_time", "", points.times_s);
  recorder.samples("allocated_memory", "", points.allocated);
  if (history.on_device) recorder.samples("reserved_memory", "", points.reserved);
  for (const Phase& phase : history.phases) {
    if (phase.name.empty()) continue;
    recorder.span(part_of(phase.name), "phases", phase.begin_s,
                  std::max(0.0, phase.end_s - phase.begin_s));
  }
}

void record_phases(const History& history, Recorder& recorder) {
  const auto record_level = [&](const char* metric, double bytes) {
    recorder.sample(metric, "built", bytes);
  };
  record_level("memory_peak", static_cast<double>(history.built.allocated));
  record_level("memory_floor", static_cast<double>(history.built.allocated));
  record_level("device_memory", static_cast<double>(history.built.device));
  if (history.on_device) {
    record_level("reserved_peak", static_cast<double>(history.built.reserved));
    record_level("reserved_floor", static_cast<double>(history.built.reserved));
  }
  for (const PhaseFigures& phase : phase_figures(history)) {
    const std::string part = part_of(phase.name);
    recorder.samples("memory_peak", part, phase.peak);
    recorder.samples("memory_floor", part, phase.floor);
    recorder.samples("device_memory", part, phase.device);
    if (!history.on_device) continue;
    recorder.samples("reserved_peak", part, phase.reserved_peak);
    recorder.samples("reserved_floor", part, phase.reserved_floor);
  }
}

// A place that allocates several sizes has a part for each.
void record_allocations(const std::vector<Allocation>& largest, Recorder& recorder) {
  std::set<std::string> parts;
  for (const Allocation& each : largest) {
    std::string part = part_of(each.from());
    if (!parts.insert(part).second) {
      part = part_of(fmt::format("{} ({} bytes)", each.from(), each.size));
      if (!parts.insert(part).second) continue;
    }
    recorder.sample("allocation_size", part, static_cast<double>(each.size));
    recorder.sample("allocation_count", part, static_cast<double>(each.count));
    recorder.sample("allocation_sum", part, static_cast<double>(each.sum()));
    std::string stack;
    for (const std::string& function : each.functions) {
      stack += (stack.empty() ? "" : " < ") + function;
    }
    if (!stack.empty()) recorder.word("allocation_stack", part, part_of(stack));
  }
}

void record_saved(const History& history, Recorder& recorder) {
  constexpr std::size_t most_rows = 500;
  const SavedFigures saved = saved_figures(history);
  std::size_t rows = 0;
  for (const SavedRow& row : saved.operators) {
    if (++rows > most_rows) break;
    recorder.sample("saved_for_backward", part_of(row.from), row.bytes);
  }
  rows = 0;
  for (const SavedRow& row : saved.blocks) {
    if (++rows > most_rows) break;
    recorder.sample("saved_by_block", part_of(row.from), row.bytes);
  }
  recorder.sample("saved_total", "", saved.total);
  recorder.sample("saved_most", "", static_cast<double>(history.saved_most));
}

std::string seen_words(const History& history) {
  std::string words = fmt::format("{} step{}", history.steps, history.steps == 1 ? "" : "s");
  if (history.cut) words += ", the last in part: more happened than is kept";
  for (const Event& event : history.events) {
    if (event.action != Event::Action::out_of_memory) continue;
    const std::string& op = history.operators[static_cast<std::size_t>(event.origin.op)];
    words += fmt::format("; {} bytes were not to be had by {} in {}", event.size,
                         op.empty() ? "no operator" : op, history.paths.text(event.origin.path));
    break;
  }
  return part_of(words);
}

}  // namespace

std::vector<MetricInfo> memory_metrics() {
  constexpr auto lower = Direction::lower_is_better;
  constexpr auto neither = Direction::neither;
  return {
      {"sample_time", "s", neither, "When the values of allocated and reserved memory begin."},
      {"allocated_memory", "byte", neither, "Bytes of live tensors over time."},
      {"reserved_memory", "byte", neither,
       "Bytes that the allocator has from the device over time."},
      {"memory_peak", "byte", lower, "Most allocated during a phase of a step."},
      {"memory_floor", "byte", lower, "Least allocated during a phase of a step."},
      {"reserved_peak", "byte", lower, "Most reserved during a phase of a step."},
      {"reserved_floor", "byte", lower, "Least reserved during a phase of a step."},
      {"device_memory", "byte", lower,
       "In use as the device says at a phase's begin or end, the larger; on a CPU resident."},
      {"allocation_size", "byte", lower, "Of an allocation, by operator and ranges."},
      {"allocation_count", "count", lower, "Allocations of that size and place in a step."},
      {"allocation_sum", "byte", lower, "Their size together.",
       "allocation_size * allocation_count"},
      {"allocation_stack",
       "",
       neither,
       "The C++ functions around an allocation, the innermost first.",
       {},
       MetricKind::text},
      {"saved_for_backward", "byte", lower,
       "What an operator saves for its backward; within blocks the mean of a block."},
      {"saved_by_block", "byte", lower, "What a block saves for its backward."},
      {"saved_total", "byte", lower, "What is saved where the backward begins."},
      {"saved_most", "byte", lower, "Most that is saved at once in a step."},
      {"memory_seen", "", neither, "What the figures are of.", {}, MetricKind::text},
  };
}

void record(const History& history, const std::vector<Allocation>& largest, Recorder& recorder) {
  record_phases(history, recorder);
  record_allocations(largest, recorder);
  record_saved(history, recorder);
  recorder.word("memory_seen", "", seen_words(history));
  record_timeline(history, recorder);
}

}  // namespace assay::memory
