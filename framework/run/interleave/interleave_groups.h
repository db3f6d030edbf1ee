#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "run/cases/machine.h"

namespace assay::run {

// Cases of a plan that differ only in the axis that `measure.interleave` names in all of them, in
// the options that come with its values, and in the axes that are tied to it.
struct InterleaveGroup {
  std::string axis;
  std::vector<std::size_t> cases;  // places in the plan, ascending
};

// Which group each case of a plan belongs to.
class InterleaveGroups {
 public:
  InterleaveGroups(const config::Experiment& experiment, const config::Plan& plan);

  // In the order of their first cases; a case that nothing is compared with is one of its own.
  const std::vector<InterleaveGroup>& all() const { return all_; }
  // nullptr where the case does not interleave.
  const InterleaveGroup* of(std::size_t case_index) const;

 private:
  std::vector<InterleaveGroup> all_;
  std::vector<std::size_t> of_case_;  // place in all_, or none; empty where no case interleaves
};

// "attention=tiled attention.block_m=64": what tells a case from the others of its group.
std::string name_in_group(const config::Experiment& experiment, const config::Plan& plan,
                          const InterleaveGroup& group, std::size_t case_index);

// What decides whether a case can take turns with others.
struct InterleaveCandidate {
  std::size_t case_index = 0;
  bool on_cuda = false;
  int world_size = 1;
  std::optional<double> bytes;        // what a rank needs, by estimate
  std::optional<std::string> cannot;  // why it cannot take turns, whatever it needs
};

// What is reckoned for a worker beside its case: a CUDA context with its libraries on the GPU and
// what the process has on the host.
constexpr double cuda_worker_bytes = 1024.0 * (1 << 20);
constexpr double host_worker_bytes = 512.0 * (1 << 20);
// The part of a memory that cases which take turns may fill by estimate.
constexpr double usable_share = 0.9;

struct InterleaveFit {
  std::vector<std::size_t> members;          // cases that take turns, ascending; none or several
  std::map<std::size_t, std::string> apart;  // the others, and why
};

// Which candidates of one group take turns: those whose memory, on each GPU and on the host,
// fits beside that of the others. Where it does not, the one that needs most is left out first. An
// estimate that is not known counts as nothing: the measuring will show.
InterleaveFit interleave_fit(const std::vector<InterleaveCandidate>& candidates,
                             const Machine& machine);

}  // namespace assay::run
