#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "run/cases/machine.h"

namespace assay::run {

// Cases of a plan that differ only in the axis that `measure.interleave` names, in the options of
// its values and in the axes tied to it.
struct InterleaveGroup {
  std::string axis;
  std::vector<std::size_t> cases;  // places in the plan, ascending
};

class InterleaveGroups {
 public:
  InterleaveGroups(const config::Experiment& experiment, const config::Plan& plan);

  // In the order of their first cases; a case without others is a group of one.
  const std::vector<InterleaveGroup>& all() const { return all_; }
  // nullptr where the case does not interleave.
  const InterleaveGroup* of(std::size_t case_index) const;

 private:
  std::vector<InterleaveGroup> all_;
  std::vector<std::size_t> of_case_;  // index in all_, or none; empty where no case interleaves
};

// "attention=tiled attention.block_m=64": the values that distinguish a case within its group.
std::string name_in_group(const config::Experiment& experiment, const config::Plan& plan,
                          const InterleaveGroup& group, std::size_t case_index);

struct InterleaveCandidate {
  std::size_t case_index = 0;
  bool on_cuda = false;
  int world_size = 1;
  std::optional<double> bytes;        // estimate for a rank; empty: unknown
  std::optional<std::string> cannot;  // why it cannot take turns, apart from memory
  std::optional<double> look_bytes;   // that a look takes beside them, likewise
};

// A worker's own memory: a CUDA context with its libraries on the GPU, the process on the host.
constexpr double cuda_worker_bytes = 1024.0 * (1 << 20);
constexpr double host_worker_bytes = 512.0 * (1 << 20);
// The part of a memory that the estimates of a group may fill.
constexpr double usable_share = 0.9;
// Estimates that are as close to each other tell no case from another.
constexpr double alike_share = 0.99;

struct InterleaveFit {
  std::vector<std::size_t> members;          // take turns, ascending; none or several
  std::map<std::size_t, std::string> apart;  // the other cases, and why
};

// Chooses the candidates of one group that take turns: all must fit together on each GPU and on the
// host, with room for a look at one of them, so those whose leaving helps most are left out first,
// of such that are alike the last. A look takes no more than is left beside its own case alone; one
// that takes all of it leaves no room for turns. An unknown estimate counts as nothing.
InterleaveFit interleave_fit(const std::vector<InterleaveCandidate>& candidates,
                             const Machine& machine);

}  // namespace assay::run
