#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::health {

// The parents and children in /proc. "Our" processes are `self` and its descendants.
class ProcessTable {
 public:
  ProcessTable();  // of this process
  // also: processes of others whose families count as ours.
  ProcessTable(std::string proc, int self, std::vector<int> also = {})
      : proc_(std::move(proc)), self_(self) {
    count_as_ours(std::move(also));
  }

  // In place of the processes of others so far.
  void count_as_ours(std::vector<int> also) {
    roots_ = std::move(also);
    roots_.push_back(self_);
  }

  bool exists(int pid) const;
  bool is_ours(int pid) const;
  // Ended, or being taken down by the system. False where that cannot be read.
  bool is_ending(int pid) const;
  std::string name(int pid) const;  // "": unknown
  // Processes of other containers have numbers here too.
  bool sees_all() const;

  // Our living processes; `self` alone where the kernel lists no children (CONFIG_PROC_CHILDREN).
  std::set<int> family() const;

  // CPU time of our processes in seconds, ended ones included; nullopt where the kernel lists no
  // children. Searches every thread for children when `thorough`, else only each process's first,
  // beside the processes already known.
  std::optional<double> own_cpu_s(bool thorough);

 private:
  struct Stat {
    int parent = 0;
    bool ending = false;
    double cpu_s = 0;  // with that of its ended children
  };
  std::optional<Stat> stat(int pid) const;
  bool is_root(int pid) const;
  void find_children(int pid, bool of_every_thread, std::set<int>& found) const;

  std::string proc_;
  int self_;
  std::vector<int> roots_;  // self_ among them
  std::set<int> known_;
};

}  // namespace assay::health
