#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "store/records.h"

namespace assay::store {

// What the exports compute from samples, in the order of the CSV columns.
inline constexpr std::array<std::string_view, 6> exported_statistics{"n",      "mean", "std",
                                                                     "median", "min",  "max"};

// The figures of a series by name: computed from its samples, if it has any, beside those it came
// with.
std::map<std::string, double> figures_of(const Series& series);

struct ExchangedOutcome {
  Outcome outcome = Outcome::ok;
  std::string reason;
};

// The outcome of a series in an export: one with a figure that is not finite, which an export
// cannot hold, is an `error` that says so.
ExchangedOutcome exchanged_outcome(const Series& series);

}  // namespace assay::store
