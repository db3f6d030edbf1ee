#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/findings/pairs.h"
#include "report/spec/numbers.h"

namespace assay::report {
namespace {

using ComparedPairs = std::vector<ComparedPair>;

std::string remarks_of(const ComparedPairs& pairs) {
  std::vector<std::set<std::string>> marks;
  for (const ComparedPair& pair : pairs) marks.push_back(pair.marks);
  return marked(marks, "pairs");
}

// Those that half of the pairs or more have, but for `wide`: a claim has its own interval, or a
// range.
std::set<std::string> signed_marks(const ComparedPairs& pairs) {
  std::map<std::string, std::size_t> counts;
  for (const ComparedPair& pair : pairs) {
    for (const std::string& mark : pair.marks) ++counts[mark];
  }
  counts.erase(std::string(wide_mark));
  std::set<std::string> marks;
  for (const auto& [mark, count] : counts) {
    if (2 * count >= pairs.size()) marks.insert(mark);
  }
  return marks;
}

std::string not_verified(const ComparedPairs& pairs) {
  const auto unverified = std::ranges::count_if(pairs, &ComparedPair::unverified);
  return report::not_verified(static_cast<std::size_t>(unverified), pairs.size(), "pairs");
}

// " (1.2–1.6×)": the interval that a single ratio is known to; "" where its error is unknown.
std::string interval_of(const ComparedPair& pair) {
  const double factor = std::exp(standard_errors * pair.relative_error);
  if (!std::isfinite(factor)) return "";
  const double low = pair.ratio / factor, high = pair.ratio * factor;
  const std::string range = speed_range(low, high);
  const bool known_exactly = range == times(low) || range == times(high);
  return known_exactly ? "" : fmt::format(" ({})", range);
}

struct RatioRange {
  const ComparedPair* least;
  const ComparedPair* most;
};

RatioRange range_of(const ComparedPairs& pairs) {
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, &ComparedPair::ratio);
  return {&*least, &*most};
}

// "1.2–1.6× in 3 cases", "2× slower to 8× faster in 3 cases".
std::string range_text(const ComparedPairs& pairs) {
  const auto [least, most] = range_of(pairs);
  return fmt::format("{} in {} cases", speed_range(least->ratio, most->ratio), pairs.size());
}

std::string turn_of(const Records& records, const BaselineComparison& comparison) {
  const auto slower = std::ranges::count_if(
      comparison.pairs, [](const ComparedPair& pair) { return pair.ratio < 1; });
  if (slower == 0 || slower == static_cast<std::ptrdiff_t>(comparison.pairs.size())) return "";
  const std::string change = sign_change(records, comparison);
  return change.empty() ? fmt::format("; slower in {} of them", slower) : "; " + change;
}

std::string claim_of(const Records& records, const BaselineComparison& comparison,
                     const std::string& base, const std::vector<std::size_t>& own,
                     std::optional<std::size_t> by) {
  const std::string how = speed(comparison.ratio());
  std::string text = fmt::format("**{} is {} {} {}**{}{}", comparison.variant, how,
                                 how == "as fast" ? "as" : "than", base,
                                 signed_marks(comparison.pairs).empty() ? "" : mark_sign,
                                 comparison.pass.empty() ? "" : ", " + comparison.pass);
  if (comparison.pairs.size() == 1) {
    const ComparedPair& pair = comparison.pairs.front();
    const std::string place = place_of(records, pair.record, own);
    text += (place.empty() ? "" : " at " + place) + interval_of(pair);
    return text + not_verified(comparison.pairs) + ".";
  }
  text += fmt::format(" ({}{})", range_text(comparison.pairs), turn_of(records, comparison));
  if (by) {
    const std::string parts = gains_text(records, comparison, *by, own);
    if (!parts.empty()) text += "; " + parts;
  }
  return text + not_verified(comparison.pairs) + ".";
}

std::string detail_of(const Records& records, const BaselineComparison& comparison,
                      const std::string& base, const std::vector<std::size_t>& own) {
  std::vector<std::string> parts;
  if (comparison.pairs.size() > 1) {
    const auto [least, most] = range_of(comparison.pairs);
    parts.push_back(fmt::format("geometric mean of {} pairs", comparison.pairs.size()));
    parts.push_back(
        fmt::format("{} at {}", speed(least->ratio), place_of(records, least->record, own)));
    parts.push_back(
        fmt::format("{} at {}", speed(most->ratio), place_of(records, most->record, own)));
    const auto unsure = std::ranges::count(comparison.pairs, false, &ComparedPair::certain);
    if (unsure == 1) parts.push_back("1 of the differences is within its noise");
    if (unsure > 1) {
      parts.push_back(fmt::format("{} of the differences are within their noise", unsure));
    }
  }
  const std::string marks = remarks_of(comparison.pairs);
  if (parts.empty() && marks.empty()) return "";
  return fmt::format("**{} against {}{}**: {}{}.", comparison.variant, base,
                     comparison.pass.empty() ? "" : ", " + comparison.pass,
                     parts.empty() ? "measured with marks" : join(parts, "; "), marks);
}

// The compared axis, and those that may differ with it: its options, and `with` and its options.
std::vector<std::size_t> own_axes(const Records& records, std::size_t axis,
                                  const std::string& with) {
  std::vector<std::size_t> own = axis_and_options(records, axis);
  if (const auto other = with.empty() ? std::nullopt : records.axis(with)) {
    std::ranges::copy(axis_and_options(records, *other), std::back_inserter(own));
  }
  return own;
}

}  // namespace

Findings speedup_findings(const Records& records, const RecordIds& ids, const FindingSpec& spec) {
  std::vector<std::size_t> axes;
  if (!spec.axis.empty()) {
    if (const auto axis = records.axis(spec.axis)) axes.push_back(*axis);
  } else {
    for (const std::string_view kind : variant_kinds) {
      if (const auto axis = records.axis(kind)) axes.push_back(*axis);
    }
  }
  const std::optional<std::size_t> by = spec.by.empty() ? std::nullopt : records.axis(spec.by);
  const std::vector<Figure> figures =
      figures_of(records, ids, "time", spec.centre.value_or(Centre::median));
  Findings findings;
  for (const std::size_t axis : axes) {
    if (!records.varies(axis)) continue;
    const std::uint32_t baseline = baseline_code(records, axis, spec.baseline);
    if (baseline == 0) continue;
    const std::string base = to_text(records.axes()[axis].values[baseline]);
    const std::vector<std::size_t> own = own_axes(records, axis, spec.with);
    for (const BaselineComparison& comparison :
         compare_with_baseline(records, figures, own, baseline)) {
      const auto certain_pairs = std::ranges::count(comparison.pairs, true, &ComparedPair::certain);
      if (2 * certain_pairs < static_cast<std::ptrdiff_t>(comparison.pairs.size())) continue;
      findings.push_back(
          {claim_of(records, comparison, base, own, by), detail_of(records, comparison, base, own),
           std::abs(std::log(comparison.ratio())), false, signed_marks(comparison.pairs)});
    }
  }
  std::ranges::move(best_option_findings(records, figures), std::back_inserter(findings));
  return findings;
}

}  // namespace assay::report
