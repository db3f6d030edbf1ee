#pragma once

#include <optional>
#include <set>
#include <string>

namespace assay::health {

// Who is whose child, from /proc. "Ours" are the processes that descend from `self`, and itself.
class ProcessTable {
 public:
  // This process's, on this machine.
  ProcessTable();
  ProcessTable(std::string proc, int self) : proc_(std::move(proc)), self_(self) {}

  bool exists(int pid) const;
  bool is_ours(int pid) const;
  // Whether the system is taking it down, or has. False where that cannot be read.
  bool is_ending(int pid) const;
  std::string name(int pid) const;  // "" where it cannot be seen
  // Whether processes of other containers have numbers here too.
  bool sees_all() const;

  // The numbers of all our processes that live; `self` alone where this kernel does not list
  // children.
  std::set<int> family() const;

  // CPU time of our processes in seconds, ended ones included; nothing where this kernel does not
  // list children (CONFIG_PROC_CHILDREN). Searches every thread for children when `thorough`, else
  // only each process's first, beside the processes already known.
  std::optional<double> own_cpu_s(bool thorough);

 private:
  struct Stat {
    int parent = 0;
    bool ending = false;
    double cpu_s = 0;  // its own and that of its ended children
  };
  std::optional<Stat> stat(int pid) const;
  void find_children(int pid, bool of_every_thread, std::set<int>& found) const;

  std::string proc_;
  int self_;
  std::set<int> known_;
};

}  // namespace assay::health
