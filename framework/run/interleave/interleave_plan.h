#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/cases/memory_estimate.h"
#include "run/cases/resolve.h"
#include "run/interleave/interleave_groups.h"

namespace assay::run {

// Decides which cases of a plan are measured in turns on this machine.
class InterleavePlan {
 public:
  InterleavePlan(const Surroundings& surroundings, const config::Plan& plan, bool allow_external);

  using Left = std::function<bool(std::size_t case_index)>;  // still to be measured

  // The cases that take turns with this one, itself included, ascending; empty where it is measured
  // apart. The first call for a group settles all of it, among the cases left at that time.
  const std::vector<std::size_t>& members_with(std::size_t case_index, const Left& left);

  // Why a case of a group is measured apart; "" where it takes turns or has no group. Call
  // members_with() for the case first.
  std::string why_apart(std::size_t case_index) const;

  const InterleaveGroups& groups() const { return groups_; }
  std::string name_of(std::size_t case_index) const;

 private:
  InterleaveCandidate candidate(std::size_t case_index);

  const Surroundings& around_;
  const config::Plan& plan_;
  bool allow_external_;
  InterleaveGroups groups_;
  MemoryEstimator estimator_;
  std::map<const InterleaveGroup*, InterleaveFit> settled_;
};

}  // namespace assay::run
