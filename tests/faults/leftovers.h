#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::faults {

// What processes hold that the system keeps for them: files in /dev/shm and listening sockets (TCP
// and Unix). Taken down while they run, and looked for when they are gone.
class Leftovers {
 public:
  // From now on.
  Leftovers();

  // Takes down what these hold at this moment.
  void observe(const std::vector<pid_t>& processes);

  // Sockets on which one of them was seen to listen.
  std::size_t listeners() const { return listening_.size(); }

  // What of all that is still there: files and sockets that were taken down, and what this user's
  // processes have put into /dev/shm since, where no living process holds it any more. Tests that
  // run at the same time hold theirs. One line each.
  std::string left() const;

 private:
  using File = std::pair<std::string, std::uint64_t>;  // path and inode

  static std::set<File> shared_memory();

  std::set<File> before_;
  std::set<File> held_;
  std::map<std::string, std::string> listening_;  // inode, and the address in words
};

}  // namespace assay::faults
