#include "health/process_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "health/text_file.h"

namespace assay::health {

namespace fs = std::filesystem;

namespace {

// The number of the first pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h).
constexpr std::string_view first_namespace = "pid:[4026531836]";
constexpr int deepest = 64;  // generations, in case /proc ever shows a cycle

}  // namespace

ProcessTable::ProcessTable() : ProcessTable("/proc", static_cast<int>(::getpid())) {}

// "17 (a name) S 1 …": the name may hold blanks and parentheses. (proc_pid_stat(5))
std::optional<ProcessTable::Stat> ProcessTable::stat(int pid) const {
  const auto text = read_text(fmt::format("{}/{}/stat", proc_, pid), 4096);
  const std::size_t close = text ? text->rfind(')') : std::string::npos;
  if (close == std::string::npos) return {};
  const auto fields = words(std::string_view(*text).substr(close + 1));
  constexpr std::size_t state = 0, parent = 1, flags = 6;
  constexpr std::size_t first_time = 11, times = 4;  // utime stime cutime cstime
  constexpr unsigned exiting = 0x4;                  // PF_EXITING of linux/sched.h
  if (fields.size() < first_time + times) return {};
  Stat stat;
  stat.parent = static_cast<int>(number(fields[parent]).value_or(0));
  stat.ending = fields[state] == "Z" || fields[state] == "X" ||
                (static_cast<unsigned>(number(fields[flags]).value_or(0)) & exiting) != 0;
  const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (std::size_t i = first_time; i < first_time + times; ++i) {
    stat.cpu_s += static_cast<double>(number(fields[i]).value_or(0)) / ticks_per_s;
  }
  return stat;
}

bool ProcessTable::exists(int pid) const { return stat(pid).has_value(); }

bool ProcessTable::is_ending(int pid) const {
  const auto found = stat(pid);
  return found ? found->ending : !fs::exists(fmt::format("{}/{}", proc_, pid));
}

bool ProcessTable::is_ours(int pid) const {
  for (int generation = 0; pid > 1 && generation < deepest; ++generation) {
    if (is_root(pid)) return true;
    const auto found = stat(pid);
    if (!found) return false;
    pid = found->parent;
  }
  return is_root(pid);
}

bool ProcessTable::is_root(int pid) const {
  return std::find(roots_.begin(), roots_.end(), pid) != roots_.end();
}

std::string ProcessTable::name(int pid) const {
  const auto text = read_text(fmt::format("{}/{}/comm", proc_, pid), 256);
  return text ? std::string(trim(*text)) : std::string();
}

bool ProcessTable::sees_all() const {
  std::error_code error;
  return fs::read_symlink(fmt::format("{}/{}/ns/pid", proc_, self_), error) == first_namespace;
}

std::optional<double> ProcessTable::own_cpu_s(bool thorough) {
  if (!read_text(fmt::format("{0}/{1}/task/{1}/children", proc_, self_), 1)) return {};
  std::set<int> found(roots_.begin(), roots_.end());
  for (const int root : roots_) find_children(root, thorough, found);
  known_.insert(found.begin(), found.end());
  double total = 0;
  for (auto pid = known_.begin(); pid != known_.end();) {
    // A stranger may have the number of an ended process.
    const auto process = stat(*pid);
    const bool ours = process && (is_root(*pid) || known_.contains(process->parent));
    if (ours) total += process->cpu_s;
    pid = ours ? std::next(pid) : known_.erase(pid);
  }
  return total;
}

std::set<int> ProcessTable::family() const {
  std::set<int> found(roots_.begin(), roots_.end());
  for (const int root : roots_) find_children(root, /*of_every_thread=*/true, found);
  return found;
}

void ProcessTable::find_children(int pid, bool of_every_thread, std::set<int>& found) const {
  const std::string tasks = fmt::format("{}/{}/task", proc_, pid);
  std::vector<std::string> threads = {std::to_string(pid)};
  if (of_every_thread) {
    std::error_code error;
    for (fs::directory_iterator entry(tasks, error), end; !error && entry != end;
         entry.increment(error)) {
      threads.push_back(entry->path().filename().string());
    }
  }
  for (const std::string& thread : threads) {
    const std::string text = read_text(tasks + "/" + thread + "/children").value_or("");
    for (const std::string_view word : words(text)) {
      const int child = static_cast<int>(number(word).value_or(0));
      if (child > 0 && found.insert(child).second) find_children(child, of_every_thread, found);
    }
  }
}

}  // namespace assay::health
