#include "store/export_statistics.h"

#include <fmt/format.h>

#include <cmath>

#include "store/statistics.h"

namespace assay::store {
namespace {

// "" when everything is finite.
std::string what_is_not_finite(const Series& series) {
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    if (std::isfinite(series.samples[i])) continue;
    return fmt::format("sample {} of {} is {}", i + 1, series.samples.size(), series.samples[i]);
  }
  for (const auto& [name, figure] : series.statistics) {
    if (!std::isfinite(figure)) return fmt::format("{} is {}", name, figure);
  }
  return {};
}

}  // namespace

std::map<std::string, double> figures_of(const Series& series) {
  std::map<std::string, double> figures = series.statistics;
  if (series.samples.empty()) return figures;
  const Summary summary = summarise(series.samples);
  figures["n"] = static_cast<double>(summary.n);
  figures["mean"] = summary.mean;
  figures["std"] = summary.std_sample;
  figures["median"] = summary.median;
  figures["min"] = summary.min;
  figures["max"] = summary.max;
  return figures;
}

ExchangedOutcome exchanged_outcome(const Series& series) {
  if (series.outcome != Outcome::ok) return {series.outcome, series.reason};
  const std::string problem = what_is_not_finite(series);
  if (problem.empty()) return {series.outcome, series.reason};
  return {Outcome::error, series.reason.empty() ? problem : series.reason + "; " + problem};
}

}  // namespace assay::store
