#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "report/findings/findings.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

constexpr std::string_view usual_baselines[] = {"naive", "eager", "fp32", "none", "layernorm"};
constexpr double standard_errors = 2;
constexpr double threshold_share = 0.9;

struct Pair {
  std::uint32_t record;
  double ratio;           // baseline / variant: above 1 the variant is faster
  double relative_error;  // of the ratio; NaN: unknown
  bool certain;
  bool unverified;
  std::set<std::string> marks;
};

struct BaselineComparison {
  std::string variant;
  std::string pass;
  std::vector<Pair> pairs;
};

std::uint32_t baseline_code(const Records& records, std::size_t axis, const std::string& wanted) {
  const auto& values = records.axes()[axis].values;
  const auto code_of = [&](std::string_view name) -> std::uint32_t {
    for (std::uint32_t code = 1; code < values.size(); ++code) {
      if (names_value(name, values[code])) return code;
    }
    return 0;
  };
  if (!wanted.empty()) return code_of(wanted);
  for (const std::string_view name : usual_baselines) {
    if (const std::uint32_t code = code_of(name)) return code;
  }
  return 1;
}

std::string variant_name(const Records& records, std::uint32_t record,
                         const std::vector<std::size_t>& own) {
  std::vector<std::string> options;
  for (std::size_t i = 1; i < own.size(); ++i) {
    const std::string text = to_text(records.value(record, own[i]));
    const std::string& name = records.axes()[own[i]].name;
    if (!text.empty() && records.varies(own[i]))
      options.push_back(name.substr(name.rfind('.') + 1) + " " + text);
  }
  const std::string name = to_text(records.value(record, own.front()));
  return options.empty() ? name : name + " (" + join(options, ", ") + ")";
}

bool certain(const Figure& a, const Figure& b) {
  if (std::isnan(a.error) || std::isnan(b.error)) return a.mean != b.mean;
  return std::abs(a.mean - b.mean) > standard_errors * std::hypot(a.error, b.error);
}

double relative_error(const Figure& a, const Figure& b) {
  return std::hypot(a.error / a.mean, b.error / b.mean);
}

std::vector<BaselineComparison> compare(const Records& records, const std::vector<Figure>& figures,
                                        std::size_t axis, std::uint32_t baseline) {
  const std::vector<std::size_t> own = axis_and_options(records, axis);
  const std::size_t pass = *records.axis("pass");
  std::unordered_map<Key, const Figure*, KeyHash> bases;
  for (const Figure& figure : figures) {
    if (records.code(figure.record, axis) == baseline)
      bases[rest_of(records, figure.record, own)] = &figure;
  }
  std::vector<BaselineComparison> comparisons;
  for (const Figure& figure : figures) {
    const std::uint32_t code = records.code(figure.record, axis);
    const auto base = bases.find(rest_of(records, figure.record, own));
    if (code == baseline || code == 0 || base == bases.end() || !(figure.mean > 0) ||
        !(base->second->mean > 0)) {
      continue;
    }
    const std::string name = variant_name(records, figure.record, own);
    const std::string pass_name = to_text(records.value(figure.record, pass));
    auto at =
        std::find_if(comparisons.begin(), comparisons.end(), [&](const BaselineComparison& known) {
          return known.variant == name && known.pass == pass_name;
        });
    if (at == comparisons.end()) {
      comparisons.push_back({name, pass_name, {}});
      at = std::prev(comparisons.end());
    }
    std::set<std::string> marks = figure.marks;
    marks.insert(base->second->marks.begin(), base->second->marks.end());
    at->pairs.push_back({figure.record, base->second->mean / figure.mean,
                         relative_error(figure, *base->second), certain(figure, *base->second),
                         figure.unverified || base->second->unverified, std::move(marks)});
  }
  return comparisons;
}

// Counts of slower and faster pairs on either side of a value.
struct Sides {
  std::pair<int, int> below, above;  // slower, faster

  // Share of pairs, in the worse half, that fit "slower below, faster above", or without `rises`
  // the opposite.
  double share(bool rises) const {
    const double all_below = below.first + below.second, all_above = above.first + above.second;
    return std::min((rises ? below.first : below.second) / all_below,
                    (rises ? above.second : above.first) / all_above);
  }
};

// "slower up to seq_len 128, faster from 256", or its opposite; "" without a clear change.
std::string sign_change(const Records& records, const BaselineComparison& comparison) {
  double best_share = 0;
  std::string best;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    if (!records.varies(axis) || !is_numeric_axis(records, axis)) continue;
    std::map<double, std::pair<int, int>> counts;  // value → slower, faster
    for (const Pair& pair : comparison.pairs) {
      auto& [slower, faster] = counts[number_at(records, pair.record, axis)];
      ++(pair.ratio < 1 ? slower : faster);
    }
    for (auto split = std::next(counts.begin()); split != counts.end(); ++split) {
      Sides sides;
      for (const auto& [value, count] : counts) {
        auto& [slower, faster] = value < split->first ? sides.below : sides.above;
        slower += count.first;
        faster += count.second;
      }
      const bool rises = sides.below.first >= sides.below.second;
      const double share = sides.share(rises);
      if (share <= best_share) continue;
      best_share = share;
      best = fmt::format("{} up to {} {:g}, {} from {:g}", rises ? "slower" : "faster",
                         records.axes()[axis].name, std::prev(split)->first,
                         rises ? "faster" : "slower", split->first);
    }
  }
  return best_share >= threshold_share ? best : "";
}

std::string times(double ratio) { return fmt::format("{:.3g}×", ratio); }

struct Gain {
  std::uint32_t code;
  double ratio;           // geometric mean
  double relative_error;  // of the ratio
  std::set<Key> cases;    // apart from the value
};

std::vector<Gain> gains_along(const Records& records, const BaselineComparison& comparison,
                              std::size_t axis, std::vector<std::size_t> own) {
  own.push_back(axis);
  std::map<std::uint32_t, std::vector<Pair>> pairs;  // by value, as the experiment lists them
  for (const Pair& pair : comparison.pairs) pairs[records.code(pair.record, axis)].push_back(pair);
  std::vector<Gain> gains;
  for (const auto& [code, of_value] : pairs) {
    std::vector<double> ratios;
    double squares = 0;
    std::set<Key> cases;
    for (const Pair& pair : of_value) {
      ratios.push_back(pair.ratio);
      squares += pair.relative_error * pair.relative_error;
      cases.insert(rest_of(records, pair.record, own));
    }
    const double error = std::sqrt(squares) / static_cast<double>(ratios.size());
    gains.push_back({code, statistics::geometric_mean(ratios), error, std::move(cases)});
  }
  if (is_numeric_axis(records, axis)) {
    std::sort(gains.begin(), gains.end(), [&](const Gain& a, const Gain& b) {
      const auto& values = records.axes()[axis].values;
      return Cell::of_value(values[a.code]).number < Cell::of_value(values[b.code]).number;
    });
  }
  return gains;
}

// ", rising" if at least three gains of the same cases rise significantly at each step.
std::string trend_of(const std::vector<Gain>& gains) {
  const auto above = [](const Gain& a, const Gain& b) {
    return a.cases == b.cases &&
           std::log(a.ratio / b.ratio) >
               standard_errors * std::hypot(a.relative_error, b.relative_error);
  };
  int rises = 0, falls = 0;
  for (std::size_t i = 1; i < gains.size(); ++i) {
    rises += above(gains[i], gains[i - 1]);
    falls += above(gains[i - 1], gains[i]);
  }
  const int steps = static_cast<int>(gains.size()) - 1;
  return steps < 2 ? "" : rises == steps ? ", rising" : falls == steps ? ", falling" : "";
}

// "by model: small 1.2×, xl 4×, rising"; "" for a single value.
std::string gains_text(const Records& records, const BaselineComparison& comparison,
                       std::size_t axis, const std::vector<std::size_t>& own) {
  const std::vector<Gain> gains = gains_along(records, comparison, axis, own);
  if (gains.size() < 2) return {};
  const std::string& name = records.axes()[axis].name;
  std::vector<std::string> parts;
  for (const Gain& gain : gains) {
    parts.push_back(to_text(records.axes()[axis].values[gain.code]) + " " + times(gain.ratio));
  }
  // Models are listed from the smallest on; other names have no order.
  const bool has_order = name == "model" || is_numeric_axis(records, axis);
  return fmt::format("by {}: {}{}", name, join(parts, ", "), has_order ? trend_of(gains) : "");
}

std::string remarks_of(const std::vector<Pair>& pairs) {
  std::size_t unverified = 0;
  std::vector<std::set<std::string>> marks;
  for (const Pair& pair : pairs) {
    unverified += pair.unverified ? 1 : 0;
    marks.push_back(pair.marks);
  }
  return not_verified(unverified, pairs.size(), "pairs") + marked(marks, "pairs");
}

std::string sentence(const Records& records, const BaselineComparison& comparison,
                     const std::string& base, std::size_t axis, std::optional<std::size_t> by) {
  const std::vector<std::size_t> own = axis_and_options(records, axis);
  std::vector<double> ratios;
  for (const Pair& pair : comparison.pairs) ratios.push_back(pair.ratio);
  const auto [least, most] =
      std::minmax_element(comparison.pairs.begin(), comparison.pairs.end(),
                          [](const Pair& a, const Pair& b) { return a.ratio < b.ratio; });
  const double mean = statistics::geometric_mean(ratios);
  const std::string subject = fmt::format("**{} against {}{}**", comparison.variant, base,
                                          comparison.pass.empty() ? "" : ", " + comparison.pass);
  const std::string mark = remarks_of(comparison.pairs);
  if (ratios.size() == 1) {
    const std::string place = place_of(records, comparison.pairs.front().record, own);
    return fmt::format("{}: {} as fast{}{}.", subject, times(mean),
                       place.empty() ? "" : " (" + place + ")", mark);
  }
  std::string text = fmt::format(
      "{}: {} as fast (geometric mean of {} pairs; least {} at {}, most {} at {})", subject,
      times(mean), ratios.size(), times(least->ratio), place_of(records, least->record, own),
      times(most->ratio), place_of(records, most->record, own));
  const auto slower =
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
  if (slower > 0 && slower < static_cast<std::ptrdiff_t>(ratios.size())) {
    const std::string change = sign_change(records, comparison);
    text += change.empty() ? fmt::format("; slower in {} of them", slower) : "; " + change;
  }
  const auto unsure = std::count_if(comparison.pairs.begin(), comparison.pairs.end(),
                                    [](const Pair& pair) { return !pair.certain; });
  if (unsure == 1) text += "; 1 of the differences is within its noise";
  if (unsure > 1) text += fmt::format("; {} of the differences are within their noise", unsure);
  if (by) {
    if (const std::string parts = gains_text(records, comparison, *by, own); !parts.empty()) {
      text += "; " + parts;
    }
  }
  return text + mark + ".";
}

}  // namespace

std::vector<std::string> speedup_findings(const Records& records, const RecordIds& ids,
                                          const FindingSpec& spec) {
  std::vector<std::size_t> axes;
  if (!spec.axis.empty()) {
    if (const auto axis = records.axis(spec.axis)) axes.push_back(*axis);
  } else {
    for (const std::string_view kind : variant_kinds) {
      if (const auto axis = records.axis(kind)) axes.push_back(*axis);
    }
  }
  const std::optional<std::size_t> by = spec.by.empty() ? std::nullopt : records.axis(spec.by);
  const std::vector<Figure> figures = figures_of(records, ids, "time");
  std::vector<std::string> sentences;
  for (const std::size_t axis : axes) {
    if (!records.varies(axis)) continue;
    const std::uint32_t baseline = baseline_code(records, axis, spec.baseline);
    if (baseline == 0) continue;
    for (const BaselineComparison& comparison : compare(records, figures, axis, baseline)) {
      const auto certain_pairs = std::count_if(comparison.pairs.begin(), comparison.pairs.end(),
                                               [](const Pair& pair) { return pair.certain; });
      if (2 * certain_pairs < static_cast<std::ptrdiff_t>(comparison.pairs.size())) continue;
      sentences.push_back(
          sentence(records, comparison, to_text(records.axes()[axis].values[baseline]), axis, by));
    }
  }
  return sentences;
}

}  // namespace assay::report
