#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/findings/findings.h"
#include "statistics/line_fit.h"

namespace assay::report {
namespace {

constexpr std::size_t least_points = 3;
constexpr double least_span = 4;
constexpr double least_r2 = 0.98;
constexpr double least_change = 1.5;  // over the range of a fit
constexpr double least_share = 0.5;   // of the curves, with a power law
constexpr std::string_view metrics_that_grow[] = {"time", "peak_memory", "memory_before"};

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
};

// log y = c + exponent · log x by least squares; R² is the share of the variance it explains.
Fit fit_of(Points::const_iterator begin, Points::const_iterator end) {
  std::vector<double> x, y;
  for (auto at = begin; at != end; ++at) {
    x.push_back(std::log(at->first));
    y.push_back(std::log(at->second));
  }
  const statistics::LineFit line = statistics::fit_line(x, y);
  Fit fit;
  fit.exponent = line.slope;
  fit.r2 = line.r2;
  fit.from = begin->first;
  fit.to = std::prev(end)->first;
  return fit;
}

// Over the longest upper part of the points that is a line: overheads dominate small sizes.
std::optional<Fit> best_fit(const Points& points) {
  for (auto begin = points.begin();
       points.end() - begin >= static_cast<std::ptrdiff_t>(least_points); ++begin) {
    if (points.back().first / begin->first < least_span) break;
    const Fit fit = fit_of(begin, points.end());
    const double change = std::abs(fit.exponent) * std::log(fit.to / fit.from);
    if (fit.r2 >= least_r2 && change >= std::log(least_change)) return fit;
  }
  return std::nullopt;
}

// One curve along the axis for each combination of the other axes, ordered by its first figure.
std::vector<Curve> curves(const Records& records, const std::vector<Figure>& figures,
                          std::size_t axis) {
  std::map<Key, Curve> by_rest;
  for (const Figure& figure : figures) {
    const double x = number_at(records, figure.record, axis);
    if (records.code(figure.record, axis) == 0 || !(x > 0) || !(figure.mean > 0)) continue;
    Curve& curve = by_rest[rest_of(records, figure.record, {axis})];
    if (curve.points.empty()) curve.record = figure.record;
    curve.points.emplace_back(x, figure.mean);
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

std::string sentence(const std::string& subject, const std::string& axis,
                     const std::vector<Fit>& fits, std::size_t curves_seen) {
  double sum = 0, least = HUGE_VAL, most = -HUGE_VAL, r2 = 1, from = HUGE_VAL, to = 0;
  std::size_t unverified = 0;
  for (const Fit& fit : fits) {
    unverified += fit.unverified ? 1 : 0;
    sum += fit.exponent;
    least = std::min(least, fit.exponent);
    most = std::max(most, fit.exponent);
    r2 = std::min(r2, fit.r2);
    from = std::min(from, fit.from);
    to = std::max(to, fit.to);
  }
  std::string text = fmt::format("**{} over {}**: grows as {}^{:.2f}", subject, axis, axis,
                                 sum / static_cast<double>(fits.size()));
  if (fits.size() > 1)
    text += fmt::format(" ({:.2f} to {:.2f} in {} fits)", least, most, fits.size());
  text += fmt::format(" from {:g} to {:g}, R² {}{:.3f}", from, to,
                      fits.size() > 1 ? "at least " : "", r2);
  if (curves_seen > fits.size()) {
    text += fmt::format("; {} more follow{} no power law", curves_seen - fits.size(),
                        curves_seen - fits.size() == 1 ? "s" : "");
  }
  return text + not_verified(unverified, fits.size(), "fits") + ".";
}

}  // namespace

std::vector<std::string> scaling_findings(const Records& records, const RecordIds& ids,
                                          const FindingSpec& spec) {
  std::vector<std::string> sentences;
  for (const std::string_view metric : metrics_that_grow) {
    const std::vector<Figure> figures = figures_of(records, ids, std::string(metric));
    for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
      const std::string& name = records.axes()[axis].name;
      const bool is_setting = name.find('.') != std::string::npos || name == "repeat";
      if (spec.axis.empty() ? is_setting : name != spec.axis) continue;
      if (records.axes()[axis].values.size() <= least_points || !is_numeric_axis(records, axis))
        continue;
      std::vector<std::pair<std::string, std::vector<Fit>>> subjects;
      std::map<std::string, std::size_t> seen;
      for (const Curve& curve : curves(records, figures, axis)) {
        if (curve.points.size() < least_points) continue;
        const std::string subject = subject_of(records, curve.record, std::string(metric));
        ++seen[subject];
        auto fit = best_fit(curve.points);
        if (!fit) continue;
        fit->unverified = curve.unverified;
        auto at = std::find_if(subjects.begin(), subjects.end(),
                               [&](const auto& s) { return s.first == subject; });
        if (at == subjects.end()) at = subjects.insert(subjects.end(), {subject, {}});
        at->second.push_back(*fit);
      }
      for (const auto& [subject, fits] : subjects) {
        if (static_cast<double>(fits.size()) < least_share * static_cast<double>(seen[subject]))
          continue;
        sentences.push_back(sentence(subject, name, fits, seen[subject]));
      }
    }
  }
  return sentences;
}

}  // namespace assay::report
