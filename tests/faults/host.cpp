#include "host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>

extern char** environ;

namespace assay::faults {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds between_looks(100);
constexpr const char* mark_variable = "FAULT_TEST_FAMILY";

std::string read_all(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string new_mark() {
  static std::atomic<int> count = 0;
  return fmt::format("{}={}-{}", mark_variable, ::getpid(), ++count);
}

std::vector<std::string> merged(const std::map<std::string, std::string>& added,
                                const std::string& mark) {
  std::vector<std::string> variables = {mark};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (name != mark_variable && !added.contains(name)) variables.emplace_back(text);
  }
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

bool holds(const std::string& list, const std::string& entry) {
  return (std::string(1, '\0') + list).find(std::string(1, '\0') + entry + '\0') !=
         std::string::npos;
}

}  // namespace

Host::Host(const Command& command) : mark_(new_mark()) {
  static std::atomic<int> count = 0;
  log_ = command.folder / fmt::format("host-{}", ++count);
  std::vector<std::string> words = {"env", "-C", command.folder.string()};
  words.insert(words.end(), command.ahead.begin(), command.ahead.end());
  words.push_back(ASSAY_BUILD_DIR "/bin/assay");
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> variables = merged(command.environment, mark_);
  const auto argv = pointers(words), envp = pointers(variables);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, (log_.string() + ".output").c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&files, 2, (log_.string() + ".errors").c_str(), flags, 0600);
  // Resets signals that the tests were started to ignore.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t hang_up;
  ::sigemptyset(&hang_up);
  ::sigaddset(&hang_up, SIGHUP);
  ::posix_spawnattr_setsigdefault(&attributes, &hang_up);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int problem = ::posix_spawnp(&pid_, "env", &files, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (problem != 0) throw std::system_error(problem, std::generic_category(), "posix_spawnp");
}

Host::~Host() {
  for (const pid_t member : family()) ::kill(member, SIGKILL);
  reap(0);
}

bool Host::reap(int options) {
  if (status_) return true;
  int status = 0;
  rusage usage = {};
  if (::wait4(pid_, &status, options, &usage) != pid_) return false;
  status_ = status;
  peak_mib_ = static_cast<double>(usage.ru_maxrss) / 1024;  // KiB
  return true;
}

bool Host::running() {
  const auto now = std::chrono::steady_clock::now();
  if (now >= next_look_ && !status_) {
    observe();
    next_look_ = now + between_looks;
  }
  return !reap(WNOHANG);
}

void Host::observe() { leftovers_.observe(family()); }

void Host::send(int signal) {
  observe();
  if (running()) ::kill(pid_, signal);
}

void Host::send_and_see_taken(int signal) {
  send(signal);
  const auto waits = [&] {
    std::ifstream status(fmt::format("/proc/{}/status", pid_));
    for (std::string word; status >> word;) {
      std::string mask;
      if (word == "ShdPnd:" && status >> mask) {
        return ((std::stoull(mask, nullptr, 16) >> (signal - 1)) & 1) != 0;
      }
    }
    return false;
  };
  EXPECT_TRUE(wait_until(60, [&] { return !running() || !waits(); }));
}

End Host::wait(double limit_s) {
  if (!wait_until(limit_s, [&] { return !running(); })) {
    ADD_FAILURE() << "it did not end within " << limit_s << " s; so far it said:\n" << errors();
    for (const pid_t member : family()) ::kill(member, SIGKILL);
    reap(0);
  }
  const int status = status_.value_or(0);
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), output(), errors(),
          peak_mib_, leftovers_.listeners()};
}

std::string Host::output() const { return read_all(log_.string() + ".output"); }
std::string Host::errors() const { return read_all(log_.string() + ".errors"); }

std::vector<pid_t> Host::family() const {
  std::vector<pid_t> members;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // A zombie has no environment.
    if (holds(read_all(entry.path() / "environ"), mark_)) members.push_back(std::stoi(name));
  }
  return members;
}

std::vector<pid_t> Host::workers() const {
  std::vector<pid_t> workers;
  for (const pid_t member : family()) {
    const std::string words = read_all(fmt::format("/proc/{}/cmdline", member));
    if (holds(words, "worker") && holds(words, "serve")) workers.push_back(member);
  }
  return workers;
}

std::string Host::left_behind(double limit_s) const {
  const auto clean = [&] { return family().empty() && leftovers_.left().empty(); };
  if (wait_until(limit_s, clean)) return "";
  std::string left = leftovers_.left();
  for (const pid_t member : family()) {
    std::string words = read_all(fmt::format("/proc/{}/cmdline", member));
    for (char& letter : words) letter = letter == '\0' ? ' ' : letter;
    left += fmt::format("process {}: {}\n", member, words);
  }
  return left;
}

}  // namespace assay::faults
