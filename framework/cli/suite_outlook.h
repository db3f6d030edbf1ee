#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/planned_suite.h"

namespace assay::cli {

// How long cases may take, by what is known of them.
struct TimeEstimate {
  std::size_t cases = 0;    // to be measured
  std::size_t known = 0;    // of them, that an earlier run measured
  std::size_t similar = 0;  // and with other settings
  std::size_t bounded = 0;  // that no run measured: by counts over ceilings, at least so long
  double seconds = 0;       // of the three together

  // A line: "estimated time: about 2 min: …; 3 cases are unknown".
  std::string text() const;
};

// What a suite will measure on this machine, and for how long.
struct SuiteOutlook {
  std::size_t chapters = 0;
  std::size_t cases = 0;          // each once
  std::size_t shared = 0;         // of them, by several chapters
  std::size_t done = 0;           // of them, that have a result already
  TimeEstimate time;              // of the rest
  std::vector<std::string> left;  // chapters, and why

  // Lines: cases, estimated time, chapters that are left.
  std::string text(const std::string& suite) const;
};

// What is known of cases before they are measured.
struct KnownTimes {
  // The seconds of cases by key, as Database::wall_times() has them.
  std::function<std::map<std::string, double>(const std::vector<std::string>& keys)> measured;
  // The least seconds of a case, as TimeByCounts has them; may be empty.
  std::function<std::optional<double>(const run::ResolvedCase&)> at_least = {};
};

// The seconds that a case with these parameters may take by a run that has measured it with other
// settings (`measure.*`, `repeat`): what it took there, and more or less by its calls of another
// number. nullopt: the run lacks it. With a target the number of samples is taken to be as before.
std::optional<double> seconds_by_similar(const store::Run& earlier,
                                         const store::Parameters& parameters);

// Of an experiment's cases, all of which are to be measured. `earlier`: its newest run, asked for
// where the keys of some cases are new.
TimeEstimate estimated_time(const run::Work& work, const KnownTimes& times,
                            const std::function<std::optional<store::Run>()>& earlier);

// `done`: the keys of a resumed run's results.
SuiteOutlook outlook_of(const PlannedSuite& suite, const run::Work& work, const KnownTimes& times,
                        const std::set<std::string>& done = {});

}  // namespace assay::cli
