#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::faults {

// Files in /dev/shm and listening sockets (TCP and Unix) of processes: recorded while they run,
// looked for once they are gone.
class Leftovers {
 public:
  // Records from now on.
  Leftovers();

  // Records what these processes hold now.
  void observe(const std::vector<pid_t>& processes);

  // Sockets on which they were seen to listen.
  std::size_t listeners() const { return listening_.size(); }

  // What is still there, a line each: recorded files and sockets, and newer files of this user in
  // /dev/shm that no living process holds (tests that run at the same time hold theirs).
  std::string left() const;

 private:
  using File = std::pair<std::string, std::uint64_t>;  // path and inode

  static std::set<File> shared_memory();

  std::set<File> before_;
  std::set<File> held_;
  std::map<std::string, std::string> listening_;  // inode, and the address in words
};

}  // namespace assay::faults
