#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run/cases/memory_estimate.h"
#include "run/cases/resolve.h"
#include "run/interleave/interleave_groups.h"

namespace assay::run {

// Which cases of a plan are measured in turns on this machine, and why the others are not.
class InterleavePlan {
 public:
  // allow_external: programs of external variants may be started.
  InterleavePlan(const Surroundings& surroundings, const config::Plan& plan, bool allow_external);

  // Whether the case is still to be measured.
  using Left = std::function<bool(std::size_t case_index)>;

  // The cases that take turns with this one, itself among them, ascending; empty where it is
  // measured apart. Settled for all of a group when the first of them is asked for: those
  // that are not left by then take no part.
  const std::vector<std::size_t>& members_with(std::size_t case_index, const Left& left);

  // Why a case of a group is measured apart; "" for one that takes turns or is in none. For
  // the cases of which members_with() has been asked.
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
