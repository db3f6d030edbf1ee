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

// Which stored results of a resumed run are measured again.
struct Again {
  bool every = false;          // --rerun
  std::set<Outcome> outcomes;  // --retry: of the case or one of its passes
};

// What a resolved case and its stored result have in common.
struct CaseIdentity {
  std::string key;
  std::string build;
  std::vector<std::string> passes;
};

struct Selection {
  std::vector<bool> wanted;  // by index in the plan; empty: all
  std::size_t repeats = 0;   // cases that equal an earlier one once `auto` is settled
  std::size_t done = 0;      // stored results that stay
  // Plan indices of the stored results, by key; empty unless the plan has all of them.
  std::map<std::string, std::int64_t> places;

  bool wants(std::size_t index) const { return wanted.empty() || wanted[index]; }
  bool wants_any() const;
};

// recorded: the run's results. A result counts when the same build measured the same passes;
// imported results may leave the passes open. Two cases of one key are one case.
Selection select_cases(std::size_t cases, const std::function<CaseIdentity(std::size_t)>& identify,
                       const std::map<std::string, store::RecordedCase>& recorded,
                       const Again& again);

// Whether two cases of the plan may be equal on this machine: `auto` stands beside another value.
bool may_repeat(const config::Plan& plan);

// The cases of the plan behind these results, with "auto" settled as it was then and newer settings
// as the plan has them. The error names the first result that does not match exactly one case.
Result<config::Plan> narrow_plan(const config::Plan& plan,
                                 const std::vector<const store::CaseResult*>& results);

// The error with which a run ends where a case cannot be stored: what is kept, and what then.
Error ends_here(Error error, const std::string& run, std::size_t stored, std::size_t total,
                std::int64_t ordinal);

}  // namespace assay::run
