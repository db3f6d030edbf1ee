#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compare/judge.h"
#include "store/records/records.h"

namespace assay::cli {

// One variant in one pass of one place, over all its processes.
struct BenchRow {
  std::map<std::string, std::string> place;  // the names that vary beside the variant
  std::string variant;                       // "tiled (block_m 64)"
  std::string pass;
  store::Parameters parameters;    // of its cases, without `repeat`
  std::vector<double> samples;     // in s, of the slowest rank; process after process
  std::vector<std::size_t> sizes;  // by process
  Outcome outcome = Outcome::ok;   // the first that is not ok
  std::string reason;              // of it
  std::string apart;               // why it did not take turns; "": it did, or had no other
  std::vector<store::Mark> marks;  // each once
  std::optional<compare::Judgement> change;  // against the baseline's; empty: it has none

  double median_s() const;  // compare::middle(); NaN without samples
  // The distance to the farther end of the 95 % interval of the median of all samples.
  double reach_s() const;
  bool measured() const { return !samples.empty(); }
};

// The fastest variant of a place and pass against another one, both proven (store/records/marks.h).
struct BenchComparison {
  const BenchRow* fastest = nullptr;
  const BenchRow* other = nullptr;
  compare::Judgement judgement;  // the ratio is the other's time over the fastest's
};

struct BenchResult {
  std::string run;
  std::string kind;
  std::string baseline;                      // compared with; "": none
  std::vector<std::string> names;            // that vary: the keys of each place
  std::vector<BenchRow> rows;                // in the run's order
  std::vector<BenchComparison> comparisons;  // point into rows
};

// Compares the variants of `kind` in a run. Differences between processes count where each variant
// was measured in several; else compare's usual deviation is assumed.
BenchResult bench_result(const store::Run& run, const std::string& kind);

// Judges each row against the baseline's row of the same parameters.
void add_changes(const store::Run& baseline, const std::string& name, BenchResult& result);

}  // namespace assay::cli
