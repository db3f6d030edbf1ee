#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/data/reduce.h"
#include "report/picture/flame.h"
#include "report/picture/picture.h"
#include "report/read/reader.h"
#include "report/spec/format.h"
#include "report/spec/units.h"
#include "report/table/pivot.h"

namespace assay::report {
namespace {

class FlameBuilder {
 public:
  FlameBuilder(const Records& records, const FlameSpec& spec) : records_(records), spec_(spec) {}

  Result<FlameData> build(const Filter& combination) {
    const auto chosen = select_both(records_, spec_.where, combination);
    if (!chosen) return tl::unexpected(chosen.error());
    const auto stacks = take(*chosen);
    if (!stacks) return tl::unexpected(stacks.error());
    FlameData data;
    data.frames = flame_frames(*stacks);
    if (data.frames.empty()) return data;
    show_in_unit(data);
    for (const auto& [name, at] : spec_.shares) {
      if (share_of(data.frames, name).count == 0) return no_frame(data, name, at);
      data.shown.push_back(name);
    }
    return data;
  }

  // The shares of the frames that the spec names; call after build().
  TableSection share_table(const FlameData& data) const {
    TableSection table;
    table.columns = {{"frame", {}, 0, false},
                     {"frames", {}, 0, true},
                     {fmt::format("each [{}]", unit_), {}, 0, true},
                     {"each [%]", {}, 0, true},
                     {fmt::format("all [{}]", unit_), {}, 0, true},
                     {"all [%]", {}, 0, true}};
    for (const std::string& name : data.shown) {
      const FrameShare share = share_of(data.frames, name);
      const double each = share.value / share.count;
      const std::vector<std::string> cells = {name,
                                              fmt::format("{}", share.count),
                                              apply(Format(), each, false, unit_),
                                              fmt::format("{:.2f}", 100 * each / whole_),
                                              apply(Format(), share.value, false, unit_),
                                              fmt::format("{:.2f}", 100 * share.value / whole_)};
      for (std::size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
    }
    return table;
  }

  std::string absence() const {
    return failure_.empty() ? "No result matches this flame graph." : failure_;
  }

 private:
  Result<std::vector<Stack>> take(const RecordIds& ids) {
    RecordIds taken;
    std::vector<Stack> stacks;
    for (const std::uint32_t id : ids) {
      const store::Series& series = *records_[id].series;
      if (series.outcome != Outcome::ok) {
        failure_ = fmt::format("No flame graph: {}: {}.", to_text(series.outcome), series.reason);
        continue;
      }
      const std::vector<std::string> frames = frames_of_part(series.part);
      if (series.metric != spec_.metric || frames.empty()) continue;
      const auto value = reduce({&series}, RankRule::maximum, Statistic::mean);
      if (!value || !(*value >= 0)) continue;
      taken.push_back(id);
      stacks.push_back({frames, *value});
      unit_ = series.unit;
    }
    const auto single = require_one_case(records_, taken, {"part", "run"}, "flame graph", spec_.at);
    if (!single) return tl::unexpected(single.error());
    return stacks;
  }

  void show_in_unit(FlameData& data) {
    whole_ = 0;
    for (const FlameFrame& frame : data.frames) whole_ += frame.depth == 0 ? frame.value : 0;
    const std::string shown = spec_.unit.empty() ? sensible_unit(whole_, unit_) : spec_.unit;
    const double factor = convert(1, unit_, shown);
    for (FlameFrame& frame : data.frames) {
      frame.start *= factor;
      frame.value *= factor;
    }
    whole_ *= factor;
    unit_ = shown;
    data.label = shown.empty() ? spec_.metric : fmt::format("{} [{}]", spec_.metric, shown);
  }

  static tl::unexpected<Error> no_frame(const FlameData& data, const std::string& name,
                                        const SourceLocation& at) {
    std::vector<std::string> names;
    for (const FlameFrame& frame : data.frames) {
      if (!std::count(names.begin(), names.end(), frame.name)) names.push_back(frame.name);
    }
    return fail_at(at, fmt::format("no frame is called '{}'", name), known_names(name, names));
  }

  const Records& records_;
  const FlameSpec& spec_;
  std::string unit_, failure_;
  double whole_ = 0;
};

}  // namespace

Result<std::vector<Section>> flame_sections(const Records& records, const FlameSpec& spec,
                                            const SideFiles& folder, int& number) {
  auto repeats = combinations(records, spec.for_each, spec.where, spec.metric);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    FlameBuilder builder(records, spec);
    auto data = builder.build(combination);
    if (!data) return tl::unexpected(data.error());
    if (data->frames.empty()) {
      sections.push_back(Paragraph{builder.absence()});
      continue;
    }
    data->title = picture_title(spec.title, combination);
    sections.push_back(
        picture(folder, fmt::format("flame-{}", ++number),
                data->title.empty() ? "Flame graph" : data->title, flame_csv(*data),
                [&](const std::filesystem::path& svg) { return flame_script(*data, svg); }));
    if (!data->shown.empty()) sections.push_back(builder.share_table(*data));
  }
  return sections;
}

}  // namespace assay::report
