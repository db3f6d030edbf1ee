#include "leftovers.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace assay::faults {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder = "/dev/shm/";
constexpr const char* deleted = " (deleted)";

struct Held {
  std::set<std::string> files;    // below /dev/shm
  std::set<std::string> sockets;  // inodes
};

// Processes may end meanwhile: unreadable ones are skipped.
Held held_by(pid_t process) {
  Held held;
  std::error_code error;
  const fs::path place = fmt::format("/proc/{}", process);
  for (fs::directory_iterator at(place / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ended;
    const std::string target = fs::read_symlink(at->path(), ended).string();
    if (target.starts_with("socket:[")) held.sockets.insert(target.substr(8, target.size() - 9));
    if (target.starts_with(folder) && !target.ends_with(deleted)) held.files.insert(target);
  }
  std::ifstream maps(place / "maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find(folder);
    if (path != std::string::npos && !line.ends_with(deleted)) held.files.insert(line.substr(path));
  }
  return held;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      processes.push_back(std::stoi(name));
    }
  }
  return processes;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Of this machine, by inode.
std::map<std::string, std::string> listening_sockets() {
  std::map<std::string, std::string> sockets;
  for (const char* protocol : {"tcp", "tcp6"}) {
    std::ifstream table(fmt::format("/proc/net/{}", protocol));
    for (std::string line; std::getline(table, line);) {
      const auto words = words_of(line);
      constexpr const char* listens = "0A";
      if (words.size() < 10 || words[3] != listens) continue;
      const std::string port = words[1].substr(words[1].rfind(':') + 1);
      sockets[words[9]] = fmt::format("{} port {}", protocol, std::stoi(port, nullptr, 16));
    }
  }
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const auto words = words_of(line);
    constexpr const char* accepts = "00010000";
    if (words.size() < 7 || words[3] != accepts) continue;
    sockets[words[6]] = "unix socket " + (words.size() > 7 ? words[7] : "without a name");
  }
  return sockets;
}

std::uint64_t inode_of(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

Leftovers::Leftovers() : before_(shared_memory()) {}

std::set<Leftovers::File> Leftovers::shared_memory() {
  std::set<File> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat status = {};
    const bool there = ::lstat(at->path().c_str(), &status) == 0;
    if (there && status.st_uid == ::geteuid()) files.emplace(at->path(), status.st_ino);
  }
  return files;
}

void Leftovers::observe(const std::vector<pid_t>& processes) {
  std::set<std::string> sockets;
  for (const pid_t process : processes) {
    Held held = held_by(process);
    sockets.merge(held.sockets);
    for (const std::string& file : held.files) {
      if (const auto inode = inode_of(file); inode != 0) held_.emplace(file, inode);
    }
  }
  for (const auto& [inode, address] : listening_sockets()) {
    if (sockets.contains(inode)) listening_.emplace(inode, address);
  }
}

std::string Leftovers::left() const {
  std::string lines;
  std::set<File> suspects;
  for (const File& file : shared_memory()) {
    if (before_.contains(file)) continue;
    if (held_.contains(file)) {
      lines += file.first + ", which it held\n";
    } else {
      suspects.insert(file);
    }
  }
  if (!suspects.empty()) {
    std::set<std::string> in_use;
    for (const pid_t process : all_processes()) in_use.merge(held_by(process).files);
    for (const File& file : suspects) {
      if (!in_use.contains(file.first)) lines += file.first + ", which nobody holds\n";
    }
  }
  const auto sockets = listening_sockets();
  for (const auto& [inode, address] : listening_) {
    if (sockets.contains(inode)) lines += address + ", on which it listened\n";
  }
  return lines;
}

}  // namespace assay::faults
