#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/planned_suite.h"

namespace assay::cli {

// What a suite will measure on this machine, and for how long.
struct SuiteOutlook {
  std::size_t chapters = 0;
  std::size_t cases = 0;          // each once
  std::size_t shared = 0;         // of them, by several chapters
  std::size_t done = 0;           // of them, that have a result already
  std::size_t known = 0;          // of the rest, those that an earlier run measured
  double seconds = 0;             // that these took
  std::vector<std::string> left;  // chapters, and why

  // Lines: cases, estimated time, chapters that are left.
  std::string text(const std::string& suite) const;
};

// The seconds of cases by key, as Database::wall_times() has them.
using WallTimes =
    std::function<std::map<std::string, double>(const std::vector<std::string>& keys)>;

// A line: the time that `rest` cases may take, of which earlier runs measured `known` in `seconds`.
std::string estimated_time(std::size_t rest, std::size_t known, double seconds);

// The seconds that a case with these parameters may take by a run that has measured it with other
// settings (`measure.*`, `repeat`): what it took there, and more or less by its calls of another
// number. nullopt: the run lacks it. With a target the number of samples is taken to be as before.
std::optional<double> seconds_by_similar(const store::Run& earlier,
                                         const store::Parameters& parameters);

// The line of an experiment's cases, all of which are to be measured. `earlier`: its newest run,
// asked for where the keys of some cases are new.
std::string estimated_time(const run::Work& work, const WallTimes& times,
                           const std::function<std::optional<store::Run>()>& earlier);

// `done`: the keys of a resumed run's results.
SuiteOutlook outlook_of(const PlannedSuite& suite, const run::Work& work, const WallTimes& times,
                        const std::set<std::string>& done = {});

}  // namespace assay::cli
