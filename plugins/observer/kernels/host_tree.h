#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events.h"
#include "paths.h"

namespace assay::kernels {

// Autograd's own call around a backward node.
bool is_engine_call(std::string_view name);

// The nesting of host events and the ranges that each belongs to. Those below a backward node
// belong to the range in which autograd made the node, found by its sequence number, and to the
// ranges around the node. Those of a thread without ranges belong to what the program's thread was
// in at the time.
struct HostTree {
  explicit HostTree(const std::vector<HostEvent>& events);

  const std::vector<HostEvent>& events;
  std::vector<int> order;              // indices by begin; callers before callees
  std::vector<int> parent;             // -1: none
  std::vector<int> path;               // of paths; a range's includes itself
  std::vector<Nanoseconds> exclusive;  // without callees
  Paths paths;

  // The innermost event of the program's thread at that moment; -1: none.
  int innermost_at(Nanoseconds time) const;
  // -1: none.
  int of_id(std::uint64_t id) const;

 private:
  using Made = std::unordered_map<std::uint64_t, std::vector<std::pair<std::int64_t, int>>>;

  void nest();
  void find_paths();
  void lend_path_to_engine(int node);
  int base_of(int event) const;
  int path_of(int event, const Made& made);

  std::uint64_t program_thread_ = 0;
  std::vector<int> program_order_;  // of the program's thread
  std::unordered_map<std::uint64_t, int> by_id_;
};

}  // namespace assay::kernels
