#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/data/reduce.h"
#include "report/findings/findings.h"

namespace assay::report {
namespace {

// The half of a 95 % interval is two standard errors.
std::optional<double> error_of(const std::vector<const store::Series*>& ranks, Centre centre,
                               std::optional<double> std) {
  if (centre == Centre::median) {
    const auto margin = reduce(ranks, RankRule::maximum, Statistic::margin);
    return margin ? std::optional(*margin / 2) : std::nullopt;
  }
  const auto n = reduce(ranks, RankRule::maximum, Statistic::n);
  if (!std || !n || !(*n > 1)) return std::nullopt;
  return *std / std::sqrt(*n);
}

}  // namespace

std::vector<Figure> figures_of(const Records& records, const RecordIds& ids,
                               const std::string& metric, Centre centre) {
  const std::size_t pass = *records.axis("pass");
  std::unordered_map<std::uint64_t, std::size_t> places;  // by case and pass
  std::vector<std::pair<std::uint32_t, std::vector<const store::Series*>>> groups;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.metric != metric || !series.part.empty() || series.outcome != Outcome::ok) continue;
    const std::uint64_t place =
        std::uint64_t{records[id].case_number} << 32 | records.code(id, pass);
    const auto [at, added] = places.try_emplace(place, groups.size());
    if (added) groups.push_back({id, {}});
    groups[at->second].second.push_back(&series);
  }
  std::vector<Figure> figures;
  for (const auto& [id, ranks] : groups) {
    const auto value = reduce(ranks, RankRule::maximum, statistic_of(centre));
    if (!value) continue;
    Figure figure;
    figure.record = id;
    figure.value = *value;
    const auto std = reduce(ranks, RankRule::maximum, Statistic::std);
    if (std) figure.std = *std;
    if (const auto error = error_of(ranks, centre, std)) figure.error = *error;
    figure.unverified = !why_unverified(records, {id}).empty();
    const std::vector<store::Mark> marks = marks_of(records, {id});
    if (store::unproven(marks)) continue;
    for (const store::Mark& mark : marks) figure.marks.insert(mark.mark);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string marked(const std::vector<std::set<std::string>>& marks, std::string_view what) {
  std::set<std::string> all;
  for (const std::set<std::string>& own : marks) all.insert(own.begin(), own.end());
  if (all.empty()) return "";
  const std::string words = join({all.begin(), all.end()}, " or ");
  const auto some = static_cast<std::size_t>(
      std::count_if(marks.begin(), marks.end(), [](const auto& own) { return !own.empty(); }));
  if (some == marks.size()) return fmt::format(" ({})", words);
  return fmt::format(" ({} of {} {} {})", some, marks.size(), what, words);
}

std::vector<std::size_t> axis_and_options(const Records& records, std::size_t axis) {
  std::vector<std::size_t> axes{axis};
  const std::string prefix = records.axes()[axis].name + ".";
  for (std::size_t i = 0; i < records.axes().size(); ++i) {
    if (records.axes()[i].name.rfind(prefix, 0) == 0) axes.push_back(i);
  }
  return axes;
}

Key rest_of(const Records& records, std::uint32_t record,
            const std::vector<std::size_t>& left_out) {
  Key key;
  for (std::size_t axis = 0; axis < records.first_derived(); ++axis) {
    const bool out = std::count(left_out.begin(), left_out.end(), axis) > 0;
    key.push_back(out || records.axes()[axis].name == "rank" ? 0 : records.code(record, axis));
  }
  return key;
}

std::string place_of(const Records& records, std::uint32_t record,
                     const std::vector<std::size_t>& left_out) {
  std::vector<std::string> parts;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    if (!records.varies(axis) || std::count(left_out.begin(), left_out.end(), axis)) continue;
    const std::string text = to_text(records.value(record, axis));
    if (!text.empty()) parts.push_back(records.axes()[axis].name + " " + text);
  }
  return join(parts, ", ");
}

}  // namespace assay::report
