#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/read/read_columns.h"
#include "report/spec/ceiling_names.h"
#include "report/spec/statistic.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

using yaml::Node;

// Words have no statistics, unit or ratio.
bool finish_words(Reader& reader, const Node& node, const ColumnDraft& draft) {
  for (const char* key : {"stat", "unit", "relative_to", "ratio"}) {
    if (const Node* wrong = node.find(key)) {
      reader.complain(*wrong,
                      fmt::format("{} holds words: they have no `{}`", draft.metric->name, key),
                      "leave it out; a column shows the word, several joined by ', '");
      return false;
    }
  }
  return true;
}

bool is_counted(Reader& reader, const ColumnDraft& draft) {
  const auto counted = [](const MetricInfo& metric) {
    return !metric.unit.empty() && metric.unit != "s" && metric.unit.find('/') == std::string::npos;
  };
  const MetricInfo& metric = *draft.metric;
  if (counted(metric)) return true;
  std::vector<std::string> names;
  for (const MetricInfo& other : reader.known().metrics) {
    if (counted(other)) names.push_back(other.name);
  }
  reader.complain(*draft.rate,
                  fmt::format("{} {}, not counted: it has no rate", metric.name,
                              metric.kind == MetricKind::text ? "holds words"
                              : metric.unit.empty()           ? "is measured in plain numbers"
                                                              : "is measured in " + metric.unit),
                  "counted: " + join(names, ", "));
  return false;
}

std::string share_of(Reader& reader, const ColumnDraft& draft) {
  if (!draft.share) return "";
  reader.note_ceilings();
  const std::string unit = draft.metric->unit + "/s";
  const std::vector<std::string> names = ceiling_names(unit);
  std::string word = reader.text(*draft.share, "share_of");
  if (std::count(names.begin(), names.end(), word)) return word;
  const bool of_another = std::any_of(std::begin(ceiling_units), std::end(ceiling_units),
                                      [&](const std::string_view other) {
                                        const auto known = ceiling_names(other);
                                        return std::count(known.begin(), known.end(), word) > 0;
                                      });
  reader.complain(
      *draft.share,
      of_another ? fmt::format("{} / time is in {}, which the ceiling '{}' is not",
                               draft.metric->name, unit, word)
                 : fmt::format("ceiling '{}' does not exist", word),
      names.empty() ? fmt::format("none is measured in {}", unit) : known_names(word, names));
  return word;
}

}  // namespace

void complain_of_no_unit(Reader& reader, const SourceLocation& at, const std::string& column,
                         const std::string& what, const std::string& unit) {
  reader.complain(at, fmt::format("'{}' shows {} without naming a unit", column, what),
                  "units for it: " + join(units_for(unit), ", "));
}

namespace {

// `unit`: the base unit of `what`.
void check_unit_of_figure(Reader& reader, const Node& node, ColumnDraft& draft,
                          const std::string& what, const std::string& unit, bool needs_unit) {
  const bool plain = unit.empty() || unit == "count";
  if (!has_unit(draft.measure.statistic) || draft.measure.relative_to) return;
  if (!draft.measure.unit.empty()) {
    if (same_dimension(draft.measure.unit, unit)) return;
    if (!reader.known().has_unit(draft.measure.unit)) return;  // reported already
    reader.complain(*node.find("unit"),
                    fmt::format("{} is measured in {}, which '{}' cannot show", what,
                                plain ? "plain numbers" : unit, draft.measure.unit),
                    plain ? "leave the unit out" : "units for it: " + join(units_for(unit), ", "));
  } else if (needs_unit && !plain && !draft.column.format.carries_unit()) {
    // What only a table shows has the unit that fits its figures; NameCheck sees other uses.
    const bool free = draft.column.format.kind == Format::Kind::automatic && draft.column.shown;
    draft.measure.scaled = free;
    if (!free) complain_of_no_unit(reader, node.where, draft.column.name, what, unit);
  }
}

void check_statistics_of_rate(Reader& reader, const ColumnDraft& draft) {
  const auto& possible = statistics_of_rates();
  for (const Statistic statistic : draft.statistics) {
    if (std::count(possible.begin(), possible.end(), statistic)) continue;
    std::vector<std::string> names;
    for (const Statistic each : possible) names.emplace_back(statistic_name(each));
    reader.complain(*draft.stat, fmt::format("a rate has no '{}'", statistic_name(statistic)),
                    "it has: " + join(names, ", "));
  }
}

bool finish_rate(Reader& reader, const Node& node, ColumnDraft& draft, bool needs_unit) {
  if (const Node* both = node.find("metric")) {
    reader.complain(*both,
                    fmt::format("'{}' shows a metric or a rate, not both", draft.column.name));
    return false;
  }
  if (!is_counted(reader, draft)) return false;
  const MetricInfo& metric = *draft.metric;
  draft.measure.metric = "time";
  draft.measure.rate = Rate{metric.name, metric.unit + "/s", share_of(reader, draft)};
  check_statistics_of_rate(reader, draft);
  if (draft.share) {
    check_unit_of_figure(reader, node, draft, "a share", "", false);
  } else {
    check_unit_of_figure(reader, node, draft, metric.name + " / time", metric.unit + "/s",
                         needs_unit);
  }
  return true;
}

bool finish_metric(Reader& reader, const Node& node, ColumnDraft& draft, bool needs_unit) {
  if (draft.share) {
    reader.complain(*draft.share, "share_of belongs to a rate",
                    "such as {rate: flops, share_of: auto}");
  }
  draft.measure.metric = draft.metric->name;
  if (draft.metric->kind == MetricKind::text) return finish_words(reader, node, draft);
  check_unit_of_figure(reader, node, draft, draft.metric->name, draft.metric->unit, needs_unit);
  return true;
}

}  // namespace

bool finish_figure(Reader& reader, const Node& node, ColumnDraft& draft, bool needs_unit) {
  if (!node.find("metric") && !draft.rate) {
    reader.complain(node, fmt::format("'{}' names no metric", draft.column.name));
  }
  if (!draft.statistics.empty()) {
    draft.measure.statistic = draft.statistics.front();
    draft.measure.names_statistic = true;
  }
  const bool made = draft.metric && (draft.rate ? finish_rate(reader, node, draft, needs_unit)
                                                : finish_metric(reader, node, draft, needs_unit));
  draft.column.content = draft.measure;
  return made;
}

void read_figure(Reader& reader, const Node& node, const Keys<ColumnDraft>& keys,
                 ColumnDraft& draft, bool needs_unit) {
  if (!reader.entries(node, "'" + draft.column.name + "'", keys, draft)) return;
  if (finish_figure(reader, node, draft, needs_unit) && draft.statistics.size() > 1) {
    reader.complain(*draft.stat, "this figure takes one statistic");
  }
}

}  // namespace assay::report
