#include "compare/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "statistics/distributions.h"
#include "statistics/median_interval.h"
#include "statistics/quantiles.h"
#include "statistics/summary.h"
#include "statistics/variance.h"

namespace assay::compare {
namespace {

using statistics::Variance;

// Below enough_degrees the assumed variance counts with assumed_degrees (judge.h).
constexpr double enough_degrees = 4;
constexpr double assumed_degrees = 2;

Judgement undecided(std::string reason) {
  return {Relation::inconclusive,
          statistics::not_a_number,
          {statistics::not_a_number, statistics::not_a_number},
          statistics::not_a_number,
          std::move(reason)};
}

std::vector<double> logarithms_of_medians(const Sampled& sampled) {
  std::vector<double> logarithms;
  std::size_t begin = 0;
  for (const std::size_t size : sampled.sizes) {
    logarithms.push_back(std::log(statistics::median(sampled.values.subspan(begin, size))));
    begin += size;
  }
  return logarithms;
}

// The variance of the logarithm of a run's median between runs of a side.
Variance between_runs(const Sampled& a, const Sampled& b, const Criteria& criteria) {
  double squares = 0, degrees = 0;
  for (const Sampled* side : {&a, &b}) {
    if (side->sizes.size() < 2) continue;
    const double deviation = statistics::summarise(logarithms_of_medians(*side)).std_sample;
    const auto free = static_cast<double>(side->sizes.size() - 1);
    squares += deviation * deviation * free;
    degrees += free;
  }
  const double assumed = criteria.between_runs * criteria.between_runs;
  if (degrees == 0) return {assumed};
  if (degrees >= enough_degrees || assumed == 0) return {squares / degrees, degrees};
  const double both = degrees + assumed_degrees;
  return {(squares + assumed_degrees * assumed) / both, both};
}

Variance of_difference(const Sampled& a, const Sampled& b, const Criteria& criteria) {
  const Variance run = between_runs(a, b, criteria);
  std::vector<Variance> parts;
  double runs = 0;  // 1 / R of A and of B
  for (const Sampled* side : {&a, &b}) {
    if (!side->sizes.empty()) runs += 1 / static_cast<double>(side->sizes.size());
    // Medians of several runs include the variation within them.
    if (side->sizes.size() < 2 || run.value == 0)
      parts.push_back(statistics::variance_of_log_median(side->values));
  }
  if (runs > 0 && run.value > 0) parts.push_back({run.value * runs, run.degrees});
  return statistics::sum_of(parts);
}

bool is_large(double log_ratio, const Criteria& criteria) {
  return std::abs(log_ratio) >= std::log1p(criteria.least);
}

bool is_within(const statistics::Interval& interval, double least) {
  return interval.high <= 1 + least && interval.low >= 1 / (1 + least);
}

std::string contains_one(const Criteria& criteria) {
  return fmt::format("the interval contains 1 and reaches beyond {:g} %: ", criteria.least * 100);
}

void decide(const Criteria& criteria, Judgement& judgement) {
  const double difference = std::log(judgement.ratio);
  const bool significant = judgement.p < criteria.significance;
  if (significant && is_large(difference, criteria)) {
    judgement.relation = difference < 0 ? Relation::lower : Relation::higher;
  } else if (is_within(judgement.interval, criteria.least)) {
    judgement.relation = Relation::same;
  } else if (significant) {
    judgement.reason =
        fmt::format("the sides differ by less than {:g} %, but the interval reaches further",
                    criteria.least * 100);
  } else {
    judgement.reason = contains_one(criteria) + "the samples are too few or too noisy to tell";
  }
}

std::string objection(std::span<const double> a, std::span<const double> b) {
  if (std::min(a.size(), b.size()) < least_samples) {
    return fmt::format("too few samples: {} and {}; each side needs {}", a.size(), b.size(),
                       least_samples);
  }
  const auto fits = [](double x) { return x > 0 && std::isfinite(x); };
  if (std::all_of(a.begin(), a.end(), fits) && std::all_of(b.begin(), b.end(), fits)) return {};
  return "there is no ratio: some samples are not finite and above 0";
}

// Requires samples without an objection().
Judgement judge_samples(const Sampled& a, const Sampled& b, const Criteria& criteria) {
  const double of_a = middle(a), of_b = middle(b);
  const double difference = std::log(of_b / of_a);
  const Variance variance = of_difference(a, b, criteria);
  const double error = std::sqrt(variance.value);
  const double reach =
      error * statistics::student_upper_quantile(criteria.significance / 2, variance.degrees);
  Judgement judgement;
  judgement.ratio = of_b / of_a;
  judgement.interval = {std::exp(difference - reach), std::exp(difference + reach)};
  const double t = std::abs(difference) / error;
  judgement.p = difference == 0 ? 1
                : error == 0    ? 0
                                : statistics::student_two_sided_p(t, variance.degrees);
  decide(criteria, judgement);
  return judgement;
}

}  // namespace

double middle(const Sampled& sampled) {
  if (sampled.sizes.size() < 2) return statistics::median(sampled.values);
  const std::vector<double> logarithms = logarithms_of_medians(sampled);
  return std::exp(statistics::summarise(logarithms).mean);
}

Judgement judge(std::span<const double> a, std::span<const double> b, const Criteria& criteria) {
  return judge(Sampled{a, {}}, Sampled{b, {}}, criteria);
}

Judgement judge(const Sampled& a, const Sampled& b, const Criteria& criteria) {
  if (std::string reason = objection(a.values, b.values); !reason.empty())
    return undecided(std::move(reason));
  Judgement judgement = judge_samples(a, b, criteria);
  const bool single_run = criteria.between_runs > 0 && a.sizes.size() == 1 && b.sizes.size() == 1;
  const bool too_wide =
      judgement.relation == Relation::inconclusive && judgement.p >= criteria.significance;
  if (!too_wide || !single_run) return judgement;
  Criteria samples_alone = criteria;
  samples_alone.between_runs = 0;
  if (judge_samples(a, b, samples_alone).relation != Relation::inconclusive) {
    judgement.reason =
        contains_one(criteria) + "a single run a side cannot show so small a difference";
  }
  return judgement;
}

Judgement judge_counts(double a, double b, const Criteria& criteria) {
  if (a == b) return {Relation::same, 1, {1, 1}, 1, {}};
  if (!(a > 0) || !(b > 0) || !std::isfinite(a) || !std::isfinite(b)) {
    return undecided(fmt::format("{:g} and {:g} have no ratio", a, b));
  }
  const double ratio = b / a;
  Judgement judgement{Relation::same, ratio, {ratio, ratio}, 0, {}};
  if (is_large(std::log(ratio), criteria)) {
    judgement.relation = ratio < 1 ? Relation::lower : Relation::higher;
  }
  return judgement;
}

}  // namespace assay::compare
