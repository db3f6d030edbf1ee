#include "base/idle_threads.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace assay {
namespace {

// /proc/self/task/N/stat reads "N (name) R …"; a name may contain any character.
bool runs(const std::filesystem::path& task) {
  std::ifstream stream(task / "stat");
  std::string line;
  std::getline(stream, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.substr(name_end + 1).starts_with(" R");
}

bool another_runs() {
  const std::string own = std::to_string(::gettid());
  std::error_code gone;  // a thread may end during the walk
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (task.path().filename() != own && runs(task.path())) return true;
  }
  return false;
}

}  // namespace

bool thread_runs(pid_t id) {
  return runs(std::filesystem::path("/proc/self/task") / std::to_string(id));
}

void await_idle_threads(double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
  while (another_runs() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace assay
