#include "report/data/reduce.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/bootstrap.h"
#include "statistics/median_interval.h"
#include "statistics/sample_order.h"
#include "statistics/summary.h"
#include "store/records/marks.h"

namespace assay::report {
namespace {

// An interval needs two samples.
statistics::Interval mean_interval(const std::vector<double>& samples) {
  if (samples.size() < 2) return {std::nan(""), std::nan("")};
  return statistics::bootstrap_mean(samples, statistics::interval_seed);
}

statistics::MedianInterval interval_of_median(const std::vector<double>& samples) {
  return samples.size() < 2 ? statistics::MedianInterval{} : statistics::median_interval(samples);
}

double combine(const std::vector<double>& values, RankRule rule, Statistic statistic) {
  if (rule == RankRule::pool) {
    if (statistic == Statistic::mean) rule = RankRule::mean;
    if (statistic == Statistic::min) rule = RankRule::minimum;
  }
  if (rule == RankRule::minimum) return *std::min_element(values.begin(), values.end());
  if (rule == RankRule::mean) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  return *std::max_element(values.begin(), values.end());
}

std::optional<double> imported_figure(const store::Series& series, Statistic statistic) {
  if (series.statistics.empty()) return std::nullopt;
  const auto find = [&](Statistic wanted) -> std::optional<double> {
    const auto at = series.statistics.find(std::string(statistic_name(wanted)));
    return at == series.statistics.end() ? std::nullopt : std::optional(at->second);
  };
  if (statistic == Statistic::margin) {
    const auto median = find(Statistic::median), low = find(Statistic::median_ci_low),
               high = find(Statistic::median_ci_high);
    if (!median || !low || !high) return std::nullopt;
    return std::max(*high - *median, *median - *low);
  }
  if (statistic != Statistic::sum || find(Statistic::sum)) return find(statistic);
  const auto mean = find(Statistic::mean), count = find(Statistic::n);
  return mean && count ? std::optional(*mean * *count) : std::nullopt;
}

}  // namespace

std::vector<double> over_ranks(const std::vector<const store::Series*>& ranks, RankRule rule) {
  if (ranks.size() == 1) return ranks.front()->samples;
  std::vector<double> result;
  if (rule == RankRule::pool) {
    for (const store::Series* rank : ranks) {
      result.insert(result.end(), rank->samples.begin(), rank->samples.end());
    }
    return result;
  }
  std::size_t count = ranks.front()->samples.size();
  for (const store::Series* rank : ranks) count = std::min(count, rank->samples.size());
  std::vector<double> iteration(ranks.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < ranks.size(); ++r) iteration[r] = ranks[r]->samples[i];
    result.push_back(combine(iteration, rule, Statistic::samples));
  }
  return result;
}

double reduce(const std::vector<double>& samples, Statistic statistic) {
  const auto summary = [&] { return statistics::summarise(samples); };
  switch (statistic) {
    case Statistic::mean:
      return summary().mean;
    case Statistic::std:
      return summary().std_sample;
    case Statistic::std_population:
      return summary().std_population;
    case Statistic::median:
      return summary().median;
    case Statistic::min:
      return summary().min;
    case Statistic::max:
      return summary().max;
    case Statistic::p5:
      return summary().p5;
    case Statistic::p95:
      return summary().p95;
    case Statistic::p99:
      return summary().p99;
    case Statistic::iqr:
      return summary().iqr;
    case Statistic::ci_low:
      return mean_interval(samples).low;
    case Statistic::ci_high:
      return mean_interval(samples).high;
    case Statistic::median_ci_low:
      return interval_of_median(samples).low;
    case Statistic::median_ci_high:
      return interval_of_median(samples).high;
    case Statistic::margin: {
      const statistics::MedianInterval interval = interval_of_median(samples);
      return std::max(interval.high - interval.median, interval.median - interval.low);
    }
    case Statistic::n:
      return static_cast<double>(samples.size());
    case Statistic::autocorrelation:
      return statistics::examine_order(samples).autocorrelation;
    case Statistic::drift:
      return statistics::examine_order(samples).drift;
    case Statistic::sum:
    case Statistic::samples:
      return std::accumulate(samples.begin(), samples.end(), 0.0);
  }
  return std::nan("");
}

std::optional<double> reduce(const std::vector<const store::Series*>& ranks, RankRule rule,
                             Statistic statistic) {
  std::vector<double> imported;
  for (const store::Series* rank : ranks) {
    if (const auto figure = imported_figure(*rank, statistic)) imported.push_back(*figure);
  }
  if (imported.size() == ranks.size()) return combine(imported, rule, statistic);
  const bool of_one = ranks.size() == 1;
  const std::vector<double> combined = of_one ? std::vector<double>() : over_ranks(ranks, rule);
  const std::vector<double>& samples = of_one ? ranks.front()->samples : combined;
  if (samples.empty()) return std::nullopt;
  const double value = reduce(samples, statistic);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::optional<double> of_slowest_rank(const store::CaseResult& result, std::string_view pass,
                                      std::string_view metric, std::string_view part,
                                      Statistic statistic) {
  std::vector<const store::Series*> ranks;
  for (const store::Series& series : result.series) {
    if (series.pass != pass || series.metric != metric || series.part != part) continue;
    if (series.outcome != Outcome::ok || store::discarded_for(result, series)) return std::nullopt;
    ranks.push_back(&series);
  }
  if (ranks.empty()) return std::nullopt;
  return reduce(ranks, RankRule::maximum, statistic);
}

}  // namespace assay::report
