#pragma once

#include <optional>

#include "cli/planned_calls.h"
#include "cli/suite_outlook.h"
#include "report/data/ceilings.h"
#include "run/cases/machine.h"
#include "run/cases/resolve.h"
#include "store/database/database.h"

namespace assay::cli {

// The seconds that a case takes at least which no run has measured: of each call the counts that
// its workload derives (MetricInfo::formula) over the rates that this machine has reached, and
// what a case takes beside its calls.
class TimeByCounts {
 public:
  // `beside_s`: building, verifying, what else a case does.
  TimeByCounts(const catalogue::Catalogue& catalogue, report::Ceilings ceilings, double beside_s)
      : catalogue_(catalogue), ceilings_(std::move(ceilings)), beside_s_(beside_s) {}

  // nullopt: the workload derives no count, or a rate for one was not measured.
  std::optional<double> seconds(const run::ResolvedCase& resolved) const;

 private:
  // Of one call: the longest of its counts over their ceilings.
  std::optional<double> call_s(const catalogue::PluginInfo& workload,
                               const wire::CaseRequest& request, const std::string& pass) const;

  const catalogue::Catalogue& catalogue_;
  report::Ceilings ceilings_;
  double beside_s_;
};

// The median of what the run's cases took beside their timed calls and warm-up; 0 without a case.
double seconds_beside_calls(const store::Run& run);

// What a database knows of cases: the times of earlier runs and, where a case is asked for that no
// run has measured, counts over ceilings, for which it is read then. catalogue and database outlive
// it.
KnownTimes known_times(const catalogue::Catalogue& catalogue, store::Database& database,
                       const run::Machine& machine);

// By the stored calibrations of this machine and its newest run. nullopt: it has no ceilings.
std::optional<TimeByCounts> time_by_counts(const catalogue::Catalogue& catalogue,
                                           store::Database& database,
                                           const nlohmann::json& machine);

}  // namespace assay::cli
