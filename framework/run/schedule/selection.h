#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "store/database/database.h"

namespace assay::run {

// Which results of a resumed run are to be measured again, though they are there.
struct Again {
  bool every = false;          // --rerun
  std::set<Outcome> outcomes;  // --retry: of the case, or of a pass of it
};

// A case with nothing left open, as far as it decides whether its result is there already.
struct CaseIdentity {
  std::string key;
  std::string build;
};

// Which cases of a plan a run measures.
struct Selection {
  std::vector<bool> wanted;  // by index in the plan; empty: all
  std::size_t repeats = 0;   // cases that are the same as an earlier one once `auto` is settled
  std::size_t done = 0;      // results that are there and stay
  // Where the plan has what the run has results of, by key; empty unless it has all of that.
  std::map<std::string, std::int64_t> places;

  bool wants(std::size_t index) const { return wanted.empty() || wanted[index]; }
  bool wants_any() const;
};

// `recorded`: what the run has. A result counts when the same build measured the same passes, or
// imported results do not say which. Two cases of one key are one case.
Selection select_cases(std::size_t cases, const std::vector<std::string>& passes,
                       const std::function<CaseIdentity(std::size_t)>& identify,
                       const std::map<std::string, store::RecordedCase>& recorded,
                       const Again& again);

// Whether two cases of the plan may be the same on this machine: `auto` beside another value.
bool may_repeat(const config::Plan& plan);

// The cases of the plan that these results are of: settled as they were then, where the plan leaves
// it to the machine ("auto"). What has become a setting since has the plan's value. An error names
// the first that is not one case of the plan.
Result<config::Plan> narrow_plan(const config::Plan& plan,
                                 const std::vector<const store::CaseResult*>& results);

}  // namespace assay::run
