#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/findings/pairs.h"
#include "report/spec/numbers.h"

namespace assay::report {
namespace {

constexpr double threshold_share = 0.9;

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

}  // namespace

std::string sign_change(const Records& records, const BaselineComparison& comparison) {
  double best_share = 0;
  std::string best;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    if (!records.varies(axis) || !is_numeric_axis(records, axis)) continue;
    std::map<double, std::pair<int, int>> counts;  // value → slower, faster
    for (const ComparedPair& pair : comparison.pairs) {
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
      best = fmt::format("{} up to {} {}, {} from {}", rises ? "slower" : "faster",
                         records.axes()[axis].name, number_text(std::prev(split)->first),
                         rises ? "faster" : "slower", number_text(split->first));
    }
  }
  return best_share >= threshold_share ? best : "";
}

}  // namespace assay::report
