#include "report/page/ambiguous_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "report/data/select.h"
#include "report/table/table.h"

namespace assay::report {
namespace {

// Figures of a block, one for each combination of `keys`.
struct BlockFigure {
  std::string what;
  SourceLocation where;
  std::string metric;
  Filter filter;
  std::vector<std::string> keys;
  std::vector<std::string> pooled;
  const char* key = "rows";
};

BlockFigure figures_of(const Measure& measure, const Filter& where, std::vector<std::string> keys) {
  BlockFigure figures{"", {}, measure.metric, where, std::move(keys), measure.pool};
  figures.filter.add(measure.where);
  return figures;
}

std::vector<BlockFigure> figures_of(const GridSpec& grid, const std::vector<std::string>& more_keys,
                                    const std::string& block) {
  std::vector<BlockFigure> all;
  std::vector<std::string> keys = grid.keys;
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  for (const Column& column : grid.columns) {
    const auto* measure = std::get_if<Measure>(&column.content);
    if (!measure) continue;
    all.push_back(figures_of(*measure, grid.where, keys));
    all.back().what = fmt::format("'{}' of this {}", shown_name(column.name), block);
    all.back().where = column.where;
  }
  for (const Pivot& pivot : grid.pivots) {
    std::vector<std::string> spread = keys;
    spread.insert(spread.end(), pivot.by.begin(), pivot.by.end());
    all.push_back(
        figures_of(std::get<Measure>(pivot.column.content), grid.where, std::move(spread)));
    all.back().what = fmt::format("the pivot of this {}", block);
    all.back().where = pivot.column.where;
  }
  return all;
}

struct FiguresOfBlock {
  const Records& records;

  std::vector<BlockFigure> operator()(TableSpec table) const {
    default_rows(records, table.grid);
    return figures_of(table.grid, table.for_each, "table");
  }
  std::vector<BlockFigure> operator()(TextSpec text) const {
    default_rows(records, text.grid);
    return figures_of(text.grid, text.for_each, "text");
  }
  std::vector<BlockFigure> operator()(const PlotSpec& plot) const {
    std::vector<std::string> keys = plot.series;
    keys.push_back(plot.x);
    keys.insert(keys.end(), plot.for_each.begin(), plot.for_each.end());
    BlockFigure figures = figures_of(plot.y, plot.where, std::move(keys));
    figures.what = "this plot";
    figures.key = "series";
    figures.where = plot.at;
    return {figures};
  }
  std::vector<BlockFigure> operator()(const TimelineSpec& timeline) const {
    std::vector<BlockFigure> all;
    for (const std::string& metric : timeline.values) {
      all.push_back({"this timeline",
                     timeline.at,
                     metric,
                     timeline.where,
                     timeline.for_each,
                     {"part"},
                     "for_each"});
    }
    return all;
  }
  std::vector<BlockFigure> operator()(const FlameSpec& flame) const {
    return {{"this flame graph",
             flame.at,
             flame.metric,
             flame.where,
             flame.for_each,
             {"part"},
             "for_each"}};
  }
  template <class Other>
  std::vector<BlockFigure> operator()(const Other&) const {
    return {};
  }
};

class Search {
 public:
  Search(const Records& records, const std::vector<std::string>& preferred)
      : records_(records), all_(records.size()) {
    std::iota(all_.begin(), all_.end(), 0u);
    order_ = {run_axis, source_axis};
    for (const std::string& name : preferred) {
      if (const auto axis = records.axis(name)) add(*axis);
    }
    for (std::size_t axis = std::size(series_axes); axis < records.axes().size(); ++axis) add(axis);
    order_.insert(order_.end(), {pass_axis, part_axis});
    for (std::size_t axis = 0; axis < records.axes().size(); ++axis) {
      varies_.push_back(differ(all_, axis));
    }
  }

  AmbiguousPlace find(const std::vector<BlockFigure>& all) const {
    AmbiguousPlace place;
    while (const auto found = first(all, place.axes)) {
      const auto& [figures, axis, ids] = *found;
      if (place.axes.empty()) {
        place.what = figures->what;
        place.where = figures->where;
        place.key = figures->key;
      }
      place.axes.push_back(records_.axes()[axis].name);
      place.texts.push_back(text_of(axis, ids));
    }
    return place;
  }

 private:
  struct Found {
    const BlockFigure* figures;
    std::size_t axis;
    RecordIds ids;  // of one place
  };

  void add(std::size_t axis) {
    if (!std::count(order_.begin(), order_.end(), axis)) order_.push_back(axis);
  }

  std::string text_of(std::size_t axis, const RecordIds& ids) const {
    constexpr std::size_t most = 6;
    std::vector<std::string> values = distinct_texts(records_, ids, axis, "none");
    if (values.size() > most) {
      values.resize(most);
      values.emplace_back("…");
    }
    return fmt::format("{} ({})", records_.axes()[axis].name, join(values, ", "));
  }

  std::optional<Found> first(const std::vector<BlockFigure>& all,
                             const std::vector<std::string>& added) const {
    std::optional<Found> best;
    const auto position = [&](std::size_t axis) {
      return std::find(order_.begin(), order_.end(), axis) - order_.begin();
    };
    for (const BlockFigure& figures : all) {
      auto found = first_ambiguous(figures, added);
      if (found && (!best || position(found->axis) < position(best->axis))) best = std::move(found);
    }
    return best;
  }

  std::optional<Found> first_ambiguous(const BlockFigure& figures,
                                       const std::vector<std::string>& added) const {
    if (awaits_counts(figures)) return std::nullopt;
    const RecordIds ids = matching(figures);
    std::vector<std::size_t> keys, open;
    for (const std::size_t axis : order_) {
      const std::string& name = records_.axes()[axis].name;
      const auto among = [&](const auto& names) { return std::ranges::count(names, name) > 0; };
      if (among(figures.keys) || among(added)) {
        keys.push_back(axis);
      } else if (axis < records_.first_derived() && varies_[axis] && !among(figures.pooled) &&
                 is_judged(axis, figures) && differ(ids, axis)) {
        open.push_back(axis);
      }
    }
    if (open.empty()) return std::nullopt;
    std::unordered_map<Key, RecordIds, KeyHash> places;
    for (const std::uint32_t id : ids) {
      Key key;
      for (const std::size_t axis : keys) key.push_back(records_.code(id, axis));
      places[key].push_back(id);
    }
    for (const std::size_t axis : open) {
      for (const auto& [key, here] : places) {
        if (differ(here, axis)) return Found{&figures, axis, here};
      }
    }
    return std::nullopt;
  }

  // Only results show what a program counts, and so what a count used as an axis tells apart.
  bool awaits_counts(const BlockFigure& figures) const {
    return records_.is_planned() && std::ranges::any_of(figures.keys, [&](const std::string& name) {
             return !records_.axis(name);
           });
  }

  // Every pass is timed; only results show which passes have other metrics.
  bool is_judged(std::size_t axis, const BlockFigure& figures) const {
    return axis != pass_axis || !records_.is_planned() || figures.metric == "time";
  }

  bool differ(const RecordIds& ids, std::size_t axis) const {
    return std::any_of(ids.begin(), ids.end(), [&](std::uint32_t id) {
      return records_.code(id, axis) != records_.code(ids.front(), axis);
    });
  }

  RecordIds matching(const BlockFigure& figures) const {
    Filter filter = figures.filter;
    const bool parts_named = filter.on("part") || std::ranges::count(figures.keys, "part") ||
                             std::ranges::count(figures.pooled, "part");
    if (!parts_named) filter.conditions.push_back({"part", {""}});
    if (records_.is_planned()) drop_unknown(filter);
    auto ids = select(records_, all_, filter);
    if (!ids) return {};
    std::erase_if(*ids, [&](std::uint32_t id) {
      const store::Series* series = records_[id].series;
      return series && series->metric != figures.metric;
    });
    return *ids;
  }

  // A plan knows neither parts nor ranks.
  static void drop_unknown(Filter& filter) {
    std::erase_if(filter.conditions, [](const Condition& condition) {
      return condition.axis != "pass" && std::ranges::count(series_axes, condition.axis) > 0;
    });
  }

  const Records& records_;
  RecordIds all_;
  std::vector<std::size_t> order_;
  std::vector<bool> varies_;  // by axis, over all records
};

void repeat_for_each(const std::vector<std::string>& axes, std::vector<std::string>& for_each,
                     Template& title) {
  for (const std::string& name : axes) {
    for_each.push_back(name);
    title.append(*Template::parse((title.empty() ? "" : ", ") + name + " {" + name + "}"));
  }
}

}  // namespace

AmbiguousPlace ambiguous_axes(const Records& records, const Block& block,
                              const std::vector<std::string>& preferred) {
  return Search(records, preferred).find(std::visit(FiguresOfBlock{records}, block));
}

Block with_axes_added(const Records& records, Block block, const std::vector<std::string>& axes) {
  if (auto* table = std::get_if<TableSpec>(&block)) {
    default_rows(records, table->grid);
    add_axis_columns(axes, table->grid);
  } else if (auto* text = std::get_if<TextSpec>(&block)) {
    repeat_for_each(axes, text->for_each, text->title);
  } else if (auto* plot = std::get_if<PlotSpec>(&block)) {
    plot->series.insert(plot->series.end(), axes.begin(), axes.end());
  }
  return block;
}

std::string note_on_added(const std::vector<std::string>& axes) {
  std::vector<std::string> names;
  for (const std::string& axis : axes) names.push_back("`" + axis + "`");
  return fmt::format(
      "{} {} added: the report does not name {}, and without {} one place would show several "
      "results.",
      join(names, ", "), names.size() == 1 ? "was" : "were", names.size() == 1 ? "it" : "them",
      names.size() == 1 ? "it" : "them");
}

std::vector<std::string> overridden_names(const std::vector<const store::Run*>& sources) {
  constexpr std::string_view option = "--set ";
  std::vector<std::string> names;
  for (const store::Run* source : sources) {
    for (const std::string& override : source->info.first.overrides) {
      if (!override.starts_with(option)) continue;
      names.push_back(config::name_of_setting(override.substr(option.size())));
    }
  }
  return names;
}

}  // namespace assay::report
