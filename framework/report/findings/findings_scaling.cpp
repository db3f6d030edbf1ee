#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/findings/findings.h"
#include "report/spec/numbers.h"
#include "statistics/line_fit.h"

namespace assay::report {
namespace {

constexpr std::size_t least_points = 3;
constexpr double least_span = 4;
constexpr double least_r2 = 0.98;
constexpr double off_the_line = 0.1;    // of what the line says of a point
constexpr double linear_within = 0.05;  // of an exponent of 1
constexpr double least_change = 1.5;    // over the range of a fit
constexpr double least_share = 0.5;     // of the curves, with a power law
// Not memory_before: what lay there before a pass is no work of it.
constexpr std::string_view metrics_that_grow[] = {"time", "peak_memory"};

using Points = std::vector<std::pair<double, double>>;  // ascending x

struct Curve {
  std::uint32_t record = 0;  // one of its figures
  Points points;
  bool unverified = false;
};

struct Fit {
  double exponent = 0;
  double r2 = 0;
  double from = 0, to = 0;
  bool unverified = false;
  std::uint32_t record = 0;
};

// log y = c + exponent · log x by least squares; R² is the share of the variance it explains.
class PowerLaw {
 public:
  void add(const std::pair<double, double>& point) {
    line_.add(std::log(point.first), std::log(point.second));
  }
  Fit over(double from, double to) const {
    const statistics::LineFit line = line_.fit();
    Fit fit;
    fit.exponent = line.slope;
    fit.r2 = line.r2;
    fit.from = from;
    fit.to = to;
    return fit;
  }

 private:
  statistics::RunningLine line_;
};

double on_the_line(const Fit& fit, const std::pair<double, double>& anchor, double x) {
  return anchor.second * std::pow(x / anchor.first, fit.exponent);
}

// Over the largest points, at least least_points that span least_span, and on down to the first
// point that leaves their line: below it the time is a launch's, the memory what was there before.
std::optional<Fit> best_fit(const Points& points) {
  auto begin = points.end() - std::min<std::ptrdiff_t>(least_points, std::ssize(points));
  while (begin != points.begin() && points.back().first / begin->first < least_span) --begin;
  if (points.end() - begin < static_cast<std::ptrdiff_t>(least_points) ||
      points.back().first / begin->first < least_span) {
    return std::nullopt;
  }
  PowerLaw law;
  for (auto at = points.end(); at != begin;) law.add(*--at);
  Fit fit = law.over(begin->first, points.back().first);
  while (begin != points.begin()) {
    const auto next = std::prev(begin);
    const double expected = on_the_line(fit, *begin, next->first);
    if (std::abs(std::log(next->second / expected)) > std::log(1 + off_the_line)) break;
    begin = next;
    law.add(*begin);
    fit = law.over(begin->first, points.back().first);
  }
  const double change = std::abs(fit.exponent) * std::log(fit.to / fit.from);
  if (fit.r2 < least_r2 || change < std::log(least_change)) return std::nullopt;
  return fit;
}

// One curve along the axis for each combination of the other axes, ordered by its first figure.
std::vector<Curve> curves(const Records& records, const std::vector<Figure>& figures,
                          std::size_t axis) {
  std::map<Key, Curve> by_rest;
  for (const Figure& figure : figures) {
    const double x = number_at(records, figure.record, axis);
    if (records.code(figure.record, axis) == 0 || !(x > 0) || !(figure.value > 0)) continue;
    Curve& curve = by_rest[rest_of(records, figure.record, {axis})];
    if (curve.points.empty()) curve.record = figure.record;
    curve.points.emplace_back(x, figure.value);
    curve.unverified = curve.unverified || figure.unverified;
  }
  std::vector<Curve> result;
  for (auto& [key, curve] : by_rest) {
    std::sort(curve.points.begin(), curve.points.end());
    result.push_back(std::move(curve));
  }
  std::sort(result.begin(), result.end(),
            [](const Curve& a, const Curve& b) { return a.record < b.record; });
  return result;
}

std::string subject_of(const Records& records, std::uint32_t record, const std::string& metric) {
  std::vector<std::string> parts;
  const std::string pass = to_text(records.value(record, *records.axis("pass")));
  parts.push_back(pass.empty() ? metric : pass + " " + metric);
  for (const std::string_view kind : variant_kinds) {
    const auto axis = records.axis(kind);
    if (axis && records.varies(*axis)) parts.push_back(to_text(records.value(record, *axis)));
  }
  return join(parts, ", ");
}

// The fits of one pass and variant along an axis.
struct AxisGrowth {
  std::string subject;
  std::vector<Fit> fits;
  std::size_t seen = 0;  // curves with enough points

  double exponent() const {
    double sum = 0;
    for (const Fit& fit : fits) sum += fit.exponent;
    return sum / static_cast<double>(fits.size());
  }
  bool is_supported() const {
    return !fits.empty() &&
           static_cast<double>(fits.size()) >= least_share * static_cast<double>(seen);
  }
  bool is_linear() const {
    return std::ranges::all_of(
        fits, [](const Fit& fit) { return std::abs(fit.exponent - 1) < linear_within; });
  }
};

// "1.88 at d_head 16 to 1.93 at d_head 128".
std::string exponents_of(const Records& records, const std::vector<Fit>& fits, std::size_t axis) {
  const auto [least, most] = std::ranges::minmax_element(fits, {}, &Fit::exponent);
  std::vector<std::size_t> left_out{axis};
  for (const std::string_view kind : variant_kinds) {
    if (const auto named = records.axis(kind)) left_out.push_back(*named);
  }
  const auto at = [&](const Fit& fit) {
    const std::string place = place_of(records, fit.record, left_out);
    return fmt::format("{:.2f}{}", fit.exponent, place.empty() ? "" : " at " + place);
  };
  return at(*least) + " to " + at(*most);
}

Finding finding_of(const Records& records, const AxisGrowth& growth, std::size_t axis) {
  double r2 = 1, from = HUGE_VAL, highest_from = 0, to = 0;
  std::size_t unverified = 0;
  for (const Fit& fit : growth.fits) {
    unverified += fit.unverified ? 1 : 0;
    r2 = std::min(r2, fit.r2);
    from = std::min(from, fit.from);
    highest_from = std::max(highest_from, fit.from);
    to = std::max(to, fit.to);
  }
  const std::string& name = records.axes()[axis].name;
  const std::string verified = not_verified(unverified, growth.fits.size(), "fits");
  std::string start = number_text(from);
  if (highest_from > from) start += " or " + number_text(highest_from);
  Finding finding;
  finding.claim = fmt::format("**{} grows as {}^{:.2f}** from {} to {}", growth.subject, name,
                              growth.exponent(), start, number_text(to));
  const bool several = growth.fits.size() > 1;
  if (several) finding.claim += fmt::format(" ({})", exponents_of(records, growth.fits, axis));
  finding.claim += verified + ".";
  if (growth.seen < 2) return finding;
  finding.detail =
      fmt::format("**{} over {}**: R² {}{:.3f} in {} fit{}", growth.subject, name,
                  several ? "at least " : "", r2, growth.fits.size(), several ? "s" : "");
  if (growth.seen > growth.fits.size()) {
    const std::size_t others = growth.seen - growth.fits.size();
    finding.detail +=
        fmt::format("; {} more follow{} no power law", others, others == 1 ? "s" : "");
  }
  finding.detail += ".";
  return finding;
}

std::vector<AxisGrowth> growths_along(const Records& records, const std::vector<Figure>& figures,
                                      std::size_t axis, std::string_view metric) {
  std::vector<AxisGrowth> growths;
  for (const Curve& curve : curves(records, figures, axis)) {
    if (curve.points.size() < least_points) continue;
    const std::string subject = subject_of(records, curve.record, std::string(metric));
    auto at = std::ranges::find(growths, subject, &AxisGrowth::subject);
    if (at == growths.end()) at = growths.insert(at, {subject, {}, 0});
    ++at->seen;
    auto fit = best_fit(curve.points);
    if (!fit) continue;
    fit->unverified = curve.unverified;
    fit->record = curve.record;
    at->fits.push_back(*fit);
  }
  std::erase_if(growths, [](const AxisGrowth& growth) { return !growth.is_supported(); });
  return growths;
}

}  // namespace

Findings scaling_findings(const Records& records, const RecordIds& ids, const FindingSpec& spec) {
  Findings findings;
  for (const std::string_view metric : metrics_that_grow) {
    const Centre centre = metric == "time" ? spec.centre.value_or(Centre::median) : Centre::mean;
    const std::vector<Figure> figures = figures_of(records, ids, std::string(metric), centre);
    for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
      const std::string& name = records.axes()[axis].name;
      const bool is_setting = name.find('.') != std::string::npos || name == "repeat";
      if (spec.axis.empty() ? is_setting : name != spec.axis) continue;
      if (records.axes()[axis].values.size() <= least_points || !is_numeric_axis(records, axis))
        continue;
      const std::vector<AxisGrowth> growths = growths_along(records, figures, axis, metric);
      if (std::ranges::all_of(growths, &AxisGrowth::is_linear)) continue;
      for (const AxisGrowth& growth : growths) {
        findings.push_back(finding_of(records, growth, axis));
      }
    }
  }
  return findings;
}

}  // namespace assay::report
