#include "tables.h"

#include <fmt/format.h>

#include <map>

#include "paths.h"

namespace assay::kernels {

namespace {

constexpr std::size_t most_kernels = 1000, most_operators_shown = 1000, most_range_stacks = 4000;
constexpr const char* others = "(others)";
// From this share of the span on that the device waits for the host.
constexpr double launch_bound_share = 0.1;

void record_times(const Profile& profile, Recorder& recorder) {
  double host_s = 0, span_s = 0;
  for (const StepTimes& step : profile.steps) {
    recorder.sample("profiled_time", "", step.span_s);
    recorder.sample("host_time", "", step.host_s);
    recorder.sample("busy_time", "", step.busy_s);
    const double idle_s = step.idle_host_s + step.idle_kernel_s + step.idle_other_s;
    recorder.sample("idle_time", "", idle_s);
    recorder.sample("idle_time", "host", step.idle_host_s);
    recorder.sample("idle_time", "kernel", step.idle_kernel_s);
    recorder.sample("idle_time", "other", step.idle_other_s);
    host_s += step.idle_host_s;
    span_s += step.span_s;
  }
  if (span_s > 0) {
    recorder.sample("idle_share", "", host_s / span_s);
    recorder.word("launch_bound", "", host_s / span_s > launch_bound_share ? "yes" : "no");
  }
  recorder.sample("profiled_work", "", profile.work_s);
  if (profile.overlap) recorder.sample("overlap", "", *profile.overlap);
  recorder.word("seen", "",
                profile.cut ? "a part of a step: it has too many operators or kernels to keep"
                            : fmt::format("{} step{}", profile.steps.size(),
                                          profile.steps.size() == 1 ? "" : "s"));
}

double share(double s, const Profile& profile) {
  return profile.work_s > 0 ? s / profile.work_s : 0;
}

void record_kernels(const Profile& profile, Recorder& recorder) {
  std::vector<Kernel> kernels;
  std::map<std::string, std::size_t> places;
  std::map<std::string, double> families;
  for (const Kernel& kernel : profile.kernels) {
    families[kernel.family] += kernel.s;
    std::string part = part_of(kernel.name);
    if (places.size() >= most_kernels && !places.contains(part)) part = others;
    const auto [at, added] = places.try_emplace(part, kernels.size());
    if (added) kernels.push_back({part, part == others ? others : kernel.family});
    kernels[at->second].calls += kernel.calls;
    kernels[at->second].s += kernel.s;
  }
  if (!kernels.empty()) {
    const Kernel& top = kernels.front();
    recorder.word("top_kernel", "", top.name);
    recorder.sample("top_kernel_time", "", top.s);
    recorder.sample("top_kernel_share", "", share(top.s, profile));
    recorder.sample("top_kernel_calls", "", top.calls);
    recorder.sample("top_family_share", "", share(families.at(top.family), profile));
  }
  for (const Kernel& kernel : kernels) {
    recorder.sample("kernel_time", kernel.name, kernel.s);
    recorder.sample("kernel_calls", kernel.name, kernel.calls);
    recorder.sample("kernel_mean_time", kernel.name, kernel.s / kernel.calls);
    recorder.sample("kernel_share", kernel.name, share(kernel.s, profile));
    recorder.word("kernel_family", kernel.name, part_of(kernel.family));
    const auto family = families.find(kernel.family);
    const double family_s = family == families.end() ? kernel.s : family->second;
    recorder.sample("family_share", kernel.name, share(family_s, profile));
  }
}

void record_classes(const Profile& profile, Recorder& recorder) {
  for (const OfClass& row : profile.classes) {
    recorder.sample("class_time", row.name, row.s);
    recorder.sample("class_calls", row.name, row.calls);
    recorder.sample("class_share", row.name, share(row.s, profile));
    recorder.sample("class_flops", row.name, row.flops);
  }
}

void record_ranges(const Profile& profile, Recorder& recorder) {
  for (const RangeTotal& range : profile.ranges) {
    const std::string part = part_of(range.name);
    recorder.sample("range_time", part, range.s);
    recorder.sample("range_share", part, share(range.s, profile));
    if (range.calls > 0) recorder.sample("range_calls", part, range.calls);
    recorder.sample("range_flops", part, range.flops);
  }
  recorder.sample("counted_flops", "", profile.flops);
}

void record_operators(const Profile& profile, Recorder& recorder) {
  std::vector<Operator> rows;
  Operator rest{others};
  for (const Operator& row : profile.operators) {
    if (rows.size() < most_operators_shown) {
      rows.push_back(row);
      continue;
    }
    rest.calls += row.calls;
    rest.self_cpu_s += row.self_cpu_s;
    rest.self_device_s += row.self_device_s;
  }
  if (rest.calls > 0) rows.push_back(rest);
  for (const Operator& row : rows) {
    const std::string part = part_of(row.name);
    const bool is_rest = row.name == others;
    recorder.sample("calls", part, row.calls);
    recorder.sample("self_cpu_time", part, row.self_cpu_s);
    if (!is_rest) recorder.sample("cpu_time", part, row.cpu_s);
    if (!profile.on_device) continue;
    recorder.sample("self_device_time", part, row.self_device_s);
    if (!is_rest) recorder.sample("device_time", part, row.device_s);
  }
}

void record_stacks(const Profile& profile, Recorder& recorder) {
  std::map<std::string, double> parts;
  for (const StackTotal& stack : profile.range_stacks) {
    std::string part;
    for (const std::string& frame : stack.frames) part += (part.empty() ? "" : ";") + frame;
    part = part.empty() ? "(outside of ranges)" : part_of(part);
    if (parts.size() >= most_range_stacks && !parts.contains(part)) part = others;
    parts[part] += stack.s;
  }
  for (const auto& [part, s] : parts) recorder.sample("stack_time", part, s);
}

}  // namespace

std::vector<MetricInfo> profile_metrics() {
  constexpr auto lower = Direction::lower_is_better;
  constexpr auto higher = Direction::higher_is_better;
  constexpr auto neither = Direction::neither;
  return {
      {"profiled_time", "s", lower,
       "From the begin of the first kernel to the end of the last; on a CPU the whole call."},
      {"host_time", "s", lower, "Of a call on the host, with the wait for its end."},
      {"busy_time", "s", lower, "Of profiled_time: at least one kernel runs."},
      {"idle_time", "s", lower,
       "Of profiled_time: none runs, and the next one waits for the host, another kernel, other."},
      {"idle_share", "", lower, "Share of profiled_time in which the device waits for the host."},
      {"launch_bound", "", neither, "Whether idle_share exceeds a tenth.", {}, MetricKind::text},
      {"profiled_work", "s", lower, "Sum of all kernels' times."},
      {"overlap", "", higher, "Share of the communication's time in which other kernels run."},
      {"seen", "", neither, "What the figures are means of.", {}, MetricKind::text},
      {"kernel_time", "s", lower, "Of a kernel's calls in a step; on a CPU of an operator's own."},
      {"kernel_calls", "count", neither, "Calls of a kernel in a step."},
      {"kernel_mean_time", "s", lower, "Of one call of a kernel."},
      {"kernel_share", "", neither, "Of a kernel in the sum of all kernels' times."},
      {"kernel_family",
       "",
       neither,
       "A kernel's name without what it is instantiated with.",
       {},
       MetricKind::text},
      {"family_share", "", neither, "Of all kernels of a kernel's family."},
      {"top_kernel", "", neither, "The kernel with the most time.", {}, MetricKind::text},
      {"top_kernel_time", "s", neither, "Its time in a step."},
      {"top_kernel_share", "", neither, "Its share in the sum of all kernels' times."},
      {"top_kernel_calls", "count", neither, "Its calls in a step."},
      {"top_family_share", "", neither, "The share of its whole family."},
      {"class_time", "s", lower, "Of a class of kernels in a step."},
      {"class_calls", "count", neither, "Kernels of a class in a step."},
      {"class_share", "", neither, "Of a class in the sum of all kernels' times."},
      {"class_flops", "FLOP", neither, "Of the operators of a class, from their shapes."},
      {"range_time", "s", lower, "Of the kernels below a range, those of its backward included."},
      {"range_share", "", neither, "Of a range in the sum of all kernels' times."},
      {"range_calls", "count", neither, "Times that a step enters a range."},
      {"range_flops", "FLOP", neither,
       "Of the operators below a range: matrix products, softmax and elementwise arithmetic."},
      {"counted_flops", "FLOP", neither, "range_flops of the whole step."},
      {"calls", "count", neither, "Calls of an operator in a step."},
      {"self_cpu_time", "s", lower, "Of an operator on the host, without its callees."},
      {"cpu_time", "s", lower, "Of an operator on the host, with its callees."},
      {"self_device_time", "s", lower, "Of the kernels that an operator launched itself."},
      {"device_time", "s", lower, "Of the kernels that an operator and its callees launched."},
      {"stack_time", "s", lower, "Of the kernels in a stack of ranges, without ranges below it."},
  };
}

void record(const Profile& profile, Recorder& recorder) {
  record_times(profile, recorder);
  record_kernels(profile, recorder);
  record_classes(profile, recorder);
  record_ranges(profile, recorder);
  record_operators(profile, recorder);
  record_stacks(profile, recorder);
}

}  // namespace assay::kernels
