#include "worker/process/plugin_threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

namespace assay::worker {

namespace {

using Word = std::uintptr_t;

constexpr std::size_t description_bytes = 2304;  // of glibc 2.17 to 2.40, at least

// Memory that another thread may give back meanwhile is read by the system, which cannot fault.
bool read_memory(Word address, void* into, std::size_t bytes) {
  const iovec local = {into, bytes};
  const iovec remote = {reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

template <class T>
std::optional<std::size_t> place_of(const std::array<char, description_bytes>& bytes, T wanted) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T found;
    std::memcpy(&found, bytes.data() + at, sizeof found);
    if (found == wanted) return at;
  }
  return std::nullopt;
}

struct AddressRange {
  Word low = 0;
  Word end = 0;
};

// Of the calling thread.
std::optional<AddressRange> own_stack() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return std::nullopt;
  void* low = nullptr;
  std::size_t bytes = 0;
  const int failed = ::pthread_attr_getstack(&attributes, &low, &bytes);
  ::pthread_attr_destroy(&attributes);
  if (failed != 0) return std::nullopt;
  return AddressRange{reinterpret_cast<Word>(low), reinterpret_cast<Word>(low) + bytes};
}

struct Probe {
  std::atomic<bool> looked = false;
  std::atomic<bool> ready = false;
  Word self = 0;
  pid_t id = 0;
  std::optional<AddressRange> stack;
};

void* probe_thread(void* argument) {
  Probe& probe = *static_cast<Probe*>(argument);
  probe.id = ::gettid();
  probe.self = static_cast<Word>(::pthread_self());
  probe.stack = own_stack();
  probe.ready = true;
  while (!probe.looked) ::sched_yield();
  return nullptr;
}

std::optional<ThreadLayout> layout_in(const Probe& probe) {
  std::array<char, description_bytes> bytes{};
  constexpr Word farthest = 1u << 20;  // of the description and thread-local memory
  if (!probe.stack || probe.stack->end - probe.self > farthest) return std::nullopt;
  if (!read_memory(probe.self, bytes.data(), bytes.size())) return std::nullopt;
  const auto id = place_of(bytes, probe.id);
  const auto routine = place_of(bytes, reinterpret_cast<Word>(&probe_thread));
  const auto argument = place_of(bytes, reinterpret_cast<Word>(&probe));
  if (!id || !routine || !argument) return std::nullopt;
  return ThreadLayout{*id, *routine, *argument, probe.stack->end - probe.self,
                      probe.stack->end - probe.stack->low};
}

// Looks at a thread whose start is known, so that it holds for every version of glibc.
std::optional<ThreadLayout> look_at_a_thread() {
  Probe probe;
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, probe_thread, &probe) != 0) return std::nullopt;
  while (!probe.ready) ::sched_yield();
  auto layout = layout_in(probe);
  probe.looked = true;
  ::pthread_join(thread, nullptr);
  return layout;
}

// The mappings that a thread's stack may begin in. The guard ahead of a stack keeps it apart from
// what lies below; what lies above may have become one mapping with it.
std::vector<AddressRange> mappings_of_stacks() {
  std::vector<AddressRange> mappings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" rw-p 00000000 00:00 0") == std::string::npos) continue;
    char* dash = nullptr;
    const Word low = std::strtoull(line.c_str(), &dash, 16);
    mappings.push_back({low, std::strtoull(dash + 1, nullptr, 16)});
  }
  return mappings;
}

// Of each thread with a stack of glibc's making where its description is.
std::map<pid_t, Word> descriptions(const ThreadLayout& layout) {
  std::map<pid_t, Word> found;
  const auto look_below = [&](Word end) {
    const Word at = end - layout.below_end;
    Word self = 0;
    pid_t id = 0;
    // A description begins with its own address.
    if (!read_memory(at, &self, sizeof self) || self != at) return;
    if (read_memory(at + layout.id, &id, sizeof id)) found[id] = at;
  };
  for (const AddressRange& mapping : mappings_of_stacks()) {
    look_below(mapping.end);
    const Word end = mapping.low + layout.stack_bytes;
    if (end < mapping.end) look_below(end);
  }
  return found;
}

std::string library_at(Word address) {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  return info.dli_fname;
}

std::string canonical(const std::string& file) {
  std::error_code unknown;
  const auto path = std::filesystem::weakly_canonical(file, unknown);
  return unknown ? file : path.string();
}

// The processor time of a thread or a process by the clocks that the system names by number
// (include/linux/posix-timers.h).
double worked_so_far_s(pid_t id, bool of_thread) {
  constexpr unsigned scheduled = 2, per_thread = 4;
  const unsigned kind = scheduled | (of_thread ? per_thread : 0);
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id) << 3) | kind);
  timespec time = {};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// std::thread starts all threads with one function of its own library, whose argument begins with
// the address of a table in the library that has made it. Arguments of others say nothing.
std::array<std::string, 2> libraries_behind(Word description, const ThreadLayout& layout) {
  Word routine = 0, argument = 0, table = 0;
  read_memory(description + layout.routine, &routine, sizeof routine);
  const std::string starter = library_at(routine);
  const auto of_std = reinterpret_cast<Word>(&std::thread::hardware_concurrency);
  if (!starter.empty() && starter == library_at(of_std)) {
    read_memory(description + layout.argument, &argument, sizeof argument);
    read_memory(argument, &table, sizeof table);
  }
  return {canonical(starter), canonical(library_at(table))};
}

}  // namespace

ThreadTimes thread_times() {
  ThreadTimes threads;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    const auto id = static_cast<pid_t>(std::stol(task.path().filename().string()));
    if (id != ::gettid()) threads[id] = worked_so_far_s(id, true);
  }
  return threads;
}

ThreadTimes child_times() {
  ThreadTimes children;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::ifstream list(task.path() / "children");
    for (pid_t id = 0; list >> id;) children[id] = worked_so_far_s(id, false);
  }
  return children;
}

double busiest_since_s(const ThreadTimes& before) {
  double busiest = 0;
  for (const auto& [id, so_far_s] : thread_times()) {
    const auto earlier = before.find(id);
    busiest = std::max(busiest, so_far_s - (earlier == before.end() ? 0 : earlier->second));
  }
  return busiest;
}

PluginThreads::PluginThreads(const std::vector<std::string>& files) {
  for (const std::string& file : files) files_.push_back(canonical(file));
  if (!files_.empty()) layout_ = look_at_a_thread();
}

std::vector<pid_t> PluginThreads::among(const ThreadTimes& threads) const {
  if (threads.empty() || files_.empty()) return {};
  const auto layout = layout_ ? layout_ : look_at_a_thread();
  if (!layout) return {};
  std::vector<pid_t> found;
  const auto described = descriptions(*layout);
  for (const auto& [id, time] : threads) {
    const auto description = described.find(id);
    if (description == described.end()) continue;
    const auto libraries = libraries_behind(description->second, *layout);
    const bool of_a_plugin = std::any_of(libraries.begin(), libraries.end(), [&](const auto& file) {
      return std::find(files_.begin(), files_.end(), file) != files_.end();
    });
    if (of_a_plugin) found.push_back(id);
  }
  return found;
}

}  // namespace assay::worker
