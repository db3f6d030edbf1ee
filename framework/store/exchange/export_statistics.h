#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "store/records/records.h"

namespace assay::store {

// What the exports compute from samples, in the order of the CSV columns: the first six always, the
// next four of two samples or more, the intervals of 2 to 10,000 of them (a bootstrap of more takes
// seconds).
inline constexpr std::array<std::string_view, 14> exported_statistics{
    "n",  "mean", "std", "median", "min",     "max",           "std_population",
    "p5", "p95",  "iqr", "ci_low", "ci_high", "median_ci_low", "median_ci_high"};

// The figures of a series by name: computed from its samples, if it has any, beside those it came
// with.
std::map<std::string, double> figures_of(const Series& series);

// Their names alone, which takes no time.
std::set<std::string> figure_names(const Series& series);

struct ExchangedOutcome {
  Outcome outcome = Outcome::ok;
  std::string reason;
};

// The outcome of a series in an export: one with a figure that is not finite, which an export
// cannot hold, is an `error` that says so.
ExchangedOutcome exchanged_outcome(const Series& series);

}  // namespace assay::store
