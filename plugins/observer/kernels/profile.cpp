#include "profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "classes.h"
#include "families.h"
#include "host_tree.h"

namespace assay::kernels {

namespace {

constexpr std::size_t most_stacks = 20'000;
constexpr double second = 1e-9;  // of a nanosecond

// The stretches in which the timed steps ran.
std::vector<Interval> windows_of(const Events& events, bool leave_first_out) {
  std::vector<Interval> windows;
  for (const std::string_view mark : {step_range, call_range}) {
    if (!windows.empty()) break;
    for (const HostEvent& event : events.host) {
      if (event.name == mark) windows.push_back(event.time);
    }
  }
  std::ranges::sort(windows, {}, &Interval::begin);
  if (events.cut != 0) {
    std::erase_if(windows, [&](const Interval& each) { return each.begin >= events.cut; });
    if (windows.size() > 1 && windows.back().end > events.cut) windows.pop_back();
    if (!windows.empty()) windows.back().end = std::min(windows.back().end, events.cut);
  }
  if (leave_first_out && windows.size() > 1) windows.erase(windows.begin());
  return windows;
}

// The work of a kernel, or of an operator on a CPU.
struct Work {
  std::string_view name;
  Nanoseconds length = 0;
  int host = -1;  // its operator, or where it was launched
  int path = Paths::none;
  std::string_view class_name = "unclassified";
};

class Analysis {
 public:
  Analysis(const Events& events, const ProfileSettings& settings)
      : events_(events),
        settings_(settings),
        tree_(events.host),
        windows_(windows_of(events, settings.leave_first_step_out)),
        self_device_(events.host.size()),
        device_(events.host.size()) {
    for (const Launch& launch : events.launches) launches_[launch.correlation] = &launch;
  }

  Profile profile() {
    profile_.on_device = !events_.device.empty();
    profile_.cut = events_.cut != 0 && !windows_.empty() && windows_.back().end == events_.cut;
    profile_.steps.resize(windows_.size());
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      profile_.steps[i].host_s = second * static_cast<double>(windows_[i].length());
    }
    if (profile_.on_device) {
      take_device();
    } else {
      take_host();
    }
    take_operators();
    take_ranges();
    finish();
    return std::move(profile_);
  }

 private:
  const HostEvent& host(int index) const { return events_.host[static_cast<std::size_t>(index)]; }

  // -1: outside of all steps.
  int window_at(Nanoseconds time) const {
    const auto after = std::ranges::upper_bound(windows_, time, {}, &Interval::begin);
    if (after == windows_.begin() || time >= (after - 1)->end) return -1;
    return static_cast<int>(after - windows_.begin()) - 1;
  }

  double per_step(double whole) const { return whole / static_cast<double>(windows_.size()); }
  double seconds_per_step(Nanoseconds whole) const {
    return per_step(second * static_cast<double>(whole));
  }

  void take_device() {
    std::vector<std::vector<Launched>> by_step(windows_.size());
    std::vector<std::vector<Interval>> sending(windows_.size()), computing(windows_.size());
    for (const DeviceEvent& event : events_.device) {
      const int step = window_at(event.time.begin + event.time.length() / 2);
      if (step < 0) continue;
      const auto launch = launches_.find(event.correlation);
      const bool launched = launch != launches_.end();
      const auto at = static_cast<std::size_t>(step);
      by_step[at].push_back({event.time, launched ? launch->second->time : Interval{}, launched});
      Work work{event.name, event.time.length()};
      work.host = tree_.of_id(event.operation);
      if (work.host < 0 && launched) work.host = tree_.innermost_at(launch->second->time.begin);
      if (work.host >= 0) work.path = tree_.path[static_cast<std::size_t>(work.host)];
      work.class_name = class_of(work.host, event);
      (communicates(work.class_name) ? sending : computing)[at].push_back(event.time);
      add(work);
      add_to_callers(work);
    }
    Nanoseconds sent = 0, hidden = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      set_times(profile_.steps[i], occupation(std::move(by_step[i]), settings_.handover));
      const auto communication = united(std::move(sending[i]));
      sent += total(communication);
      hidden += common(communication, united(std::move(computing[i])));
    }
    if (sent > 0) profile_.overlap = static_cast<double>(hidden) / static_cast<double>(sent);
  }

  static void set_times(StepTimes& step, const Occupation& found) {
    step.span_s = second * static_cast<double>(found.span.length());
    step.busy_s = second * static_cast<double>(found.busy);
    step.idle_host_s = second * static_cast<double>(found.idle.host);
    step.idle_kernel_s = second * static_cast<double>(found.idle.kernel);
    step.idle_other_s = second * static_cast<double>(found.idle.other);
  }

  // On a CPU the operators are the work: between them the host's own code runs.
  void take_host() {
    std::vector<std::vector<Interval>> busy(windows_.size());
    for (std::size_t i = 0; i < events_.host.size(); ++i) {
      const HostEvent& event = events_.host[i];
      const int step = window_at(event.time.begin);
      if (step < 0 || event.kind == HostEvent::Kind::range) continue;
      const Interval& window = windows_[static_cast<std::size_t>(step)];
      busy[static_cast<std::size_t>(step)].push_back(
          {event.time.begin, std::min(event.time.end, window.end)});
      const int index = static_cast<int>(i);
      add({event.name, std::max<Nanoseconds>(0, tree_.exclusive[i]), index, tree_.path[i],
           class_of(index)});
    }
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      StepTimes& step = profile_.steps[i];
      step.span_s = step.host_s;
      step.busy_s = second * static_cast<double>(total(united(std::move(busy[i]))));
      step.idle_host_s = step.span_s - step.busy_s;
    }
  }

  // Of the innermost operator around it that a class is known of.
  std::string_view class_of(int at) const {
    for (; at >= 0; at = tree_.parent[static_cast<std::size_t>(at)]) {
      if (host(at).kind == HostEvent::Kind::range) break;
      if (const auto known = class_of_operator(host(at).name)) return *known;
    }
    return "unclassified";
  }
  std::string_view class_of(int at, const DeviceEvent& event) const {
    const std::string_view known = class_of(at);
    if (known != "unclassified") return known;
    return class_of_kernel(event.name, event.kind).value_or("unclassified");
  }

  void add(const Work& work) {
    Sum& kernel = kernels_[work.name];
    kernel.add(work.length);
    classes_[work.class_name].add(work.length);
    for (const std::string& range : labels_of(work.path)) ranges_[range].work.add(work.length);
    by_path_[work.path] += work.length;
    work_ += work.length;
    std::string stack = tree_.paths.text(work.path);
    for (const std::string_view frame : operators_around(work.host)) {
      stack += stack.empty() ? "" : ";";
      stack += frame;
    }
    if (profile_.on_device) {
      stack += stack.empty() ? "" : ";";
      stack += family(work.name);
    }
    const auto found = stacks_.find(stack);
    if (found == stacks_.end() && stacks_.size() >= most_stacks) stack = "(others)";
    stacks_[stack] += work.length;
  }

  const std::string& family(std::string_view kernel) {
    auto& known = families_[kernel];
    if (known.empty()) {
      known = family_of(kernel);
      std::ranges::replace(known, ';', ',');
    }
    return known;
  }

  // Distinct names of the ranges on a path, without numbers.
  const std::set<std::string>& labels_of(int path) {
    const auto [at, added] = labels_.try_emplace(path);
    if (added) {
      for (const std::string& name : tree_.paths.names(path)) {
        at->second.insert(without_number(name));
      }
    }
    return at->second;
  }

  std::vector<std::string_view> operators_around(int at) const {
    std::vector<std::string_view> names;
    for (; at >= 0; at = tree_.parent[static_cast<std::size_t>(at)]) {
      if (host(at).kind == HostEvent::Kind::range) break;
      if (!is_engine_call(host(at).name)) names.push_back(host(at).name);
    }
    std::ranges::reverse(names);
    return names;
  }

  void add_to_callers(const Work& work) {
    if (work.host < 0) return;
    self_device_[static_cast<std::size_t>(work.host)] += work.length;
    for (int at = work.host; at >= 0; at = tree_.parent[static_cast<std::size_t>(at)]) {
      device_[static_cast<std::size_t>(at)] += work.length;
    }
  }

  bool within_its_like(int index) const {
    const std::string& name = host(index).name;
    for (int at = tree_.parent[static_cast<std::size_t>(index)]; at >= 0;
         at = tree_.parent[static_cast<std::size_t>(at)]) {
      if (host(at).kind != HostEvent::Kind::range && host(at).name == name) return true;
    }
    return false;
  }

  void take_operators() {
    for (std::size_t i = 0; i < events_.host.size(); ++i) {
      const HostEvent& event = events_.host[i];
      if (event.kind == HostEvent::Kind::range || window_at(event.time.begin) < 0) continue;
      const int index = static_cast<int>(i);
      Totals& row = operators_[event.name];
      ++row.calls;
      row.self_cpu += std::max<Nanoseconds>(0, tree_.exclusive[i]);
      row.self_device += self_device_[i];
      if (within_its_like(index)) continue;
      row.cpu += event.time.length();
      row.device += device_[i];
    }
  }

  void take_ranges() {
    for (std::size_t i = 0; i < events_.host.size(); ++i) {
      const HostEvent& event = events_.host[i];
      if (window_at(event.time.begin) < 0) continue;
      if (event.kind == HostEvent::Kind::range) {
        if (event.name == step_range || event.name == call_range) continue;
        ++ranges_[without_number(event.name)].entered;
      } else if (event.flops > 0 && !within_its_like(static_cast<int>(i))) {
        for (const std::string& label : labels_of(tree_.path[i]))
          ranges_[label].flops += event.flops;
        flops_by_class_[class_of(static_cast<int>(i))] += event.flops;
        flops_ += event.flops;
      }
    }
  }

  void finish() {
    if (windows_.empty()) return;
    profile_.work_s = seconds_per_step(work_);
    for (const auto& [name, sum] : kernels_) {
      profile_.kernels.push_back(
          {std::string(name), family_of(name), per_step(sum.calls), seconds_per_step(sum.time)});
    }
    std::ranges::stable_sort(profile_.kernels, std::greater(), &Kernel::s);
    for (const std::string& name : classes()) {
      const Sum& sum = classes_[name];
      profile_.classes.push_back(
          {name, per_step(sum.calls), seconds_per_step(sum.time), per_step(flops_by_class_[name])});
    }
    for (const auto& [name, range] : ranges_) {
      profile_.ranges.push_back({name, per_step(range.entered), seconds_per_step(range.work.time),
                                 per_step(range.flops)});
    }
    std::ranges::stable_sort(profile_.ranges, std::greater(), &RangeTotal::s);
    profile_.flops = per_step(flops_);
    for (const auto& [name, row] : operators_) {
      profile_.operators.push_back({name, per_step(row.calls), seconds_per_step(row.self_cpu),
                                    seconds_per_step(row.cpu), seconds_per_step(row.self_device),
                                    seconds_per_step(row.device)});
    }
    std::ranges::stable_sort(profile_.operators, std::greater(), [&](const Operator& row) {
      return std::pair(row.self_device_s, row.self_cpu_s);
    });
    finish_stacks();
  }

  void finish_stacks() {
    for (const auto& [path, time] : by_path_) {
      profile_.range_stacks.push_back({tree_.paths.names(path), seconds_per_step(time)});
    }
    std::ranges::stable_sort(profile_.range_stacks, {}, &StackTotal::frames);
    for (const auto& [stack, time] : stacks_) {
      std::vector<std::string> frames;
      for (std::size_t begin = 0; begin <= stack.size();) {
        const std::size_t end = std::min(stack.find(';', begin), stack.size());
        frames.push_back(stack.substr(begin, end - begin));
        begin = end + 1;
      }
      profile_.stacks.push_back({std::move(frames), seconds_per_step(time)});
    }
  }

  struct Sum {
    double calls = 0;
    Nanoseconds time = 0;
    void add(Nanoseconds length) {
      ++calls;
      time += length;
    }
  };
  struct OfRange {
    Sum work;
    double entered = 0;
    double flops = 0;
  };
  struct Totals {
    double calls = 0;
    Nanoseconds self_cpu = 0, cpu = 0, self_device = 0, device = 0;
  };

  const Events& events_;
  ProfileSettings settings_;
  HostTree tree_;
  std::vector<Interval> windows_;
  std::unordered_map<std::uint64_t, const Launch*> launches_;
  std::vector<Nanoseconds> self_device_, device_;  // by host event
  std::map<std::string_view, Sum> kernels_;
  std::map<std::string_view, std::string> families_;
  std::map<std::string_view, Sum> classes_;
  std::map<std::string, OfRange> ranges_;
  std::map<std::string, Totals> operators_;
  std::map<int, std::set<std::string>> labels_;
  std::map<int, Nanoseconds> by_path_;
  std::map<std::string, Nanoseconds> stacks_;
  Nanoseconds work_ = 0;
  std::map<std::string_view, double> flops_by_class_;
  double flops_ = 0;
  Profile profile_;
};

}  // namespace

Profile profile_of(const Events& events, const ProfileSettings& settings) {
  return Analysis(events, settings).profile();
}

}  // namespace assay::kernels
