#include "worker/process/state_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/idle_threads.h"
#include "base/text.h"
#include "worker/process/imports.h"

namespace assay::worker {

namespace {

using std::chrono::microseconds;

constexpr microseconds look(2000);
constexpr double idle_s = 100e-6;  // of a thread's or a process's work within a look

// Of the busiest.
double work_between(const ThreadTimes& before, const ThreadTimes& after) {
  double busiest = 0;
  for (const auto& [id, before_s] : before) {
    const auto later = after.find(id);
    if (later != after.end()) busiest = std::max(busiest, later->second - before_s);
  }
  return busiest;
}

// OpenMP's threads turn on the spot for some milliseconds after their work, and libraries have
// threads that look around now and then.
constexpr double restless_s = 0.1;
constexpr microseconds moment(200);
constexpr double working_share = 0.5;

// A sleep may last longer than asked for, and the thread work all the while.
bool another_thread_works() {
  const ThreadTimes before = thread_times();
  if (before.empty()) return false;
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(moment);
  const double worked_s = busiest_since_s(before);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return worked_s > working_share * passed.count();
}

// One of a plugin's own threads. On a machine with much to do, one that would run waits for a core
// through a look or more.
bool thread_works(ThreadTimes before) {
  constexpr int most_looks = 100;
  for (int looks = 0; looks < most_looks; ++looks) {
    std::this_thread::sleep_for(look);
    const ThreadTimes now = thread_times();
    if (work_between(before, now) >= idle_s) return true;
    const bool one_waits =
        std::ranges::any_of(before, [](const auto& thread) { return thread_runs(thread.first); });
    if (!one_waits) return false;
    for (auto& [id, so_far_s] : before) {
      if (const auto later = now.find(id); later != now.end()) so_far_s = later->second;
    }
  }
  return false;
}

// A copy of this process that a plugin has forked may run a little. Reaps nothing: the plugin may
// await its children itself.
bool children_go_on() {
  const ThreadTimes begun = child_times();
  if (begun.empty()) return false;
  for (ThreadTimes before = begun;;) {
    std::this_thread::sleep_for(look);
    ThreadTimes now = child_times();
    if (work_between(before, now) < idle_s) return false;
    if (work_between(begun, now) > restless_s) return true;
    before = std::move(now);
  }
}

// Whether the user has OpenMP's threads turn on the spot for good.
bool pools_never_rest() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  const bool active = policy != nullptr && (*policy == 'a' || *policy == 'A');
  return active || std::getenv("GOMP_SPINCOUNT") != nullptr;
}

// Whether another thread goes on for longer than those of pools turn on the spot.
bool threads_go_on() {
  if (pools_never_rest()) return false;
  const ThreadTimes begun = thread_times();
  while (another_thread_works()) {
    if (busiest_since_s(begun) > restless_s) return true;
  }
  return false;
}

}  // namespace

std::string SharedCode::tampered() const {
  if (const auto name = operators_.changed()) {
    return fmt::format("LibTorch's operator {} leads elsewhere than before", *name);
  }
  return code_tampered();
}

std::string SharedCode::code_tampered() const {
  if (const std::string part = code_.changed(); !part.empty()) {
    return fmt::format("{} was written to", part);
  }
  if (const std::string who = handlers_.newcomer(); !who.empty()) {
    return fmt::format("{} that is not assay's may fill memory once the clock has stopped", who);
  }
  return {};
}

StateWatch::StateWatch(Plan plan)
    : plan_(std::move(plan)),
      threads_(plan_.files),
      before_(thread_times()),
      settings_(settings_now()) {}

void StateWatch::expect_numeric_settings() {
  for (auto& [name, value] : numeric_settings()) settings_[name] = value;
}

void StateWatch::expect_library_variables() {
  libraries_have_started_ = true;
  settings_.merge(library_variables(process_settings(plan_.device)));
}

ProcessSettings StateWatch::settings_now() const {
  ProcessSettings settings = process_settings(plan_.device);
  if (libraries_have_started_) return settings;
  for (const auto& [name, value] : library_variables(settings)) settings.erase(name);
  return settings;
}

ThreadTimes StateWatch::new_threads() const {
  ThreadTimes threads = thread_times();
  std::erase_if(threads, [&](const auto& thread) { return before_.contains(thread.first); });
  return threads;
}

std::map<std::string, std::string> StateWatch::left_behind() const {
  std::map<std::string, std::string> left;
  const std::size_t started = threads_.among(new_threads()).size();
  if (started > 0) {
    left["threads"] = fmt::format("{} that {} had started still lived",
                                  counted(started, "thread", "threads"), plan_.made_by);
  }
  std::string changes = changes_in_words(settings_, settings_now());
  for (const std::string& file : plan_.files) {
    if (!imports(file, "mallopt")) continue;
    changes +=
        fmt::format("{}{} calls mallopt(), whose settings nobody can read",
                    changes.empty() ? "" : "; ", std::filesystem::path(file).filename().string());
  }
  if (!changes.empty()) {
    left["settings"] =
        fmt::format("{} left its process with other settings: {}", plan_.made_by, changes);
  }
  return left;
}

std::string StateWatch::work_after_a_call() const {
  if (std::string changed = plan_.tampered(); !changed.empty()) return changed;
  if (std::string threads = working_threads(); !threads.empty()) return threads;
  if (children_go_on()) {
    return fmt::format("a process that {} had started worked on after it had returned",
                       plan_.made_by);
  }
  return {};
}

std::string StateWatch::device_work_after_a_call(double other_streams_s) const {
  constexpr double longest_wait_s = 200e-6;  // for a device that has nothing to do
  if (other_streams_s <= longest_wait_s) return {};
  return fmt::format("the GPU worked for another {} on other streams after {} had returned",
                     human_duration(other_streams_s), plan_.made_by);
}

std::string StateWatch::working_threads() const {
  const ThreadTimes others = new_threads();
  ThreadTimes own;
  for (const pid_t id : threads_.among(others)) own[id] = others.at(id);
  if (own.empty()) {
    return threads_go_on() ? fmt::format("threads worked on after {} had returned", plan_.made_by)
                           : "";
  }
  if (!thread_works(std::move(own))) return {};
  return fmt::format("a thread that {} had started worked on after it had returned", plan_.made_by);
}

}  // namespace assay::worker
