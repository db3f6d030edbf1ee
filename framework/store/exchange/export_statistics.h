#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "store/records/records.h"

namespace assay::store {

// The exports compute these from samples, in the order of the CSV columns: the first six always,
// the next four from two samples on, the intervals from 2 to 10,000 samples (beyond, a bootstrap
// takes seconds).
inline constexpr std::array<std::string_view, 14> exported_statistics{
    "n",  "mean", "std", "median", "min",     "max",           "std_population",
    "p5", "p95",  "iqr", "ci_low", "ci_high", "median_ci_low", "median_ci_high"};

// By name: the series' own statistics and those computed from its samples.
std::map<std::string, double> figures_of(const Series& series);

// The names alone, without computing.
std::set<std::string> figure_names(const Series& series);

struct ExchangedOutcome {
  Outcome outcome = Outcome::ok;
  std::string reason;
};

// An export cannot hold a non-finite figure: its series becomes an `error` that names it.
ExchangedOutcome exchanged_outcome(const Series& series);

}  // namespace assay::store
