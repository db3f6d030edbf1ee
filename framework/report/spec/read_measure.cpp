#include "report/spec/read_measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/spec/ceiling_names.h"
#include "report/spec/units.h"

namespace assay::report {

using yaml::Node;

Handlers look(Reader& reader, Column& column) {
  return {
      {"format", [&](const Node& node) { column.format = reader.format(node); }},
      {"labels", [&](const Node& node) { column.labels = reader.text_map(node, "labels"); }},
      {"other", [&](const Node& node) { column.other_label = reader.text(node, "other"); }},
      {"cells", [&](const Node& node) { column.cells = reader.cells(node); }},
      {"align",
       [&](const Node& node) {
         const std::string word = reader.choice(node, "alignment", {"left", "right", "center"});
         column.align = word.empty() ? '\0' : word.front();
       }},
      {"show", [&](const Node& node) { column.shown = reader.boolean(node, "show"); }},
  };
}

Handlers& operator+=(Handlers& handlers, Handlers more) {
  std::move(more.begin(), more.end(), std::back_inserter(handlers));
  return handlers;
}

bool unit_exists(const Vocabulary& known, const std::string& name) {
  return store::unit_named(name) || known.metric(name) ||
         std::any_of(known.metrics.begin(), known.metrics.end(), [&](const MetricInfo& metric) {
           return metric.unit == name || metric.unit + "/s" == name;
         });
}

std::string read_unit(Reader& reader, const Node& node) {
  std::string name = reader.text(node, "unit");
  if (!unit_exists(reader.known(), name)) {
    reader.complain(node, fmt::format("unit '{}' does not exist", name),
                    known_names(name, store::known_units()));
  }
  return name;
}

MeasureReader::MeasureReader(Reader& reader, Column& column) : reader_(reader), column_(column) {
  column.content = Measure();
}

Measure& MeasureReader::measure() { return std::get<Measure>(column_.content); }

Handlers MeasureReader::handlers() {
  Handlers handlers = look(reader_, column_);
  handlers += selection();
  handlers += {{"metric", [this](const Node& node) { metric_ = reader_.metric(node); }},
               {"rate",
                [this](const Node& node) {
                  rate_ = &node;
                  metric_ = reader_.metric(node);
                }},
               {"share_of", [this](const Node& node) { share_ = &node; }}};
  return handlers;
}

Handlers MeasureReader::selection() {
  return {
      {"pass",
       [this](const Node& node) {
         measure().where.conditions.push_back({"pass", {reader_.pass(node)}});
       }},
      {"part",
       [this](const Node& node) {
         std::vector<std::string> parts = reader_.texts(node, "part");
         for (const std::string& part : parts) reader_.value(node, "part", part);
         measure().where.conditions.push_back({"part", std::move(parts)});
       }},
      {"source",
       [this](const Node& node) {
         const std::string word = reader_.text(node, "source");
         const bool number = word.find_first_not_of("0123456789") == std::string::npos;
         reader_.value(node, number ? "source" : "run", word);
         measure().where.conditions.push_back({number ? "source" : "run", {word}});
       }},
      {"rank", [this](const Node& node) { read_rank(node); }},
      {"where", [this](const Node& node) { measure().where.add(reader_.filter(node)); }},
      {"stat", [this](const Node& node) { read_statistics(node); }},
      {"unit", [this](const Node& node) { measure().unit = read_unit(reader_, node); }},
      {"relative_to", [this](const Node& node) { measure().relative_to = reader_.filter(node); }},
      {"ratio",
       [this](const Node& node) {
         measure().inverse = reader_.choice(node, "ratio", {"relative", "speedup"}) == "speedup";
       }},
      {"pool", [this](const Node& node) { measure().pool = reader_.axes(node); }},
  };
}

void MeasureReader::read_rank(const Node& node) {
  static const std::vector<std::pair<std::string, RankRule>> rules{{"max", RankRule::maximum},
                                                                   {"min", RankRule::minimum},
                                                                   {"mean", RankRule::mean},
                                                                   {"all", RankRule::pool}};
  const std::string word = reader_.text(node, "rank");
  for (const auto& [name, rule] : rules) {
    if (name == word) {
      measure().ranks = rule;
      return;
    }
  }
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) {
    reader_.complain(node, fmt::format("rank '{}' does not exist", word),
                     "a number, max, min, mean or all");
    return;
  }
  reader_.value(node, "rank", word);
  measure().where.conditions.push_back({"rank", {word}});
}

void MeasureReader::read_statistics(const Node& node) {
  stat_ = &node;
  for (const std::string& name : reader_.texts(node, "stat")) {
    if (const auto statistic = statistic_from_text(name)) {
      statistics_.push_back(*statistic);
    } else {
      reader_.complain(node, fmt::format("statistic '{}' does not exist", name),
                       known_names(name, statistic_names()));
    }
  }
}

bool MeasureReader::finish(const Node& node, bool needs_unit) {
  if (!node.find("metric") && !rate_) {
    reader_.complain(node, fmt::format("'{}' names no metric", column_.name));
  }
  if (!metric_) return false;
  if (!statistics_.empty()) measure().statistic = statistics_.front();
  if (rate_) return finish_rate(node, needs_unit);
  if (share_) {
    reader_.complain(*share_, "share_of belongs to a rate",
                     "such as {rate: flops, share_of: auto}");
  }
  measure().metric = metric_->name;
  check_unit(node, metric_->name, metric_->unit, needs_unit);
  return true;
}

bool MeasureReader::finish_rate(const Node& node, bool needs_unit) {
  if (const Node* both = node.find("metric")) {
    reader_.complain(*both, fmt::format("'{}' shows a metric or a rate, not both", column_.name));
    return false;
  }
  if (!is_counted()) return false;
  measure().metric = "time";
  measure().rate = Rate{metric_->name, metric_->unit + "/s", share_of()};
  const auto& possible = statistics_of_rates();
  for (const Statistic statistic : statistics_) {
    if (std::count(possible.begin(), possible.end(), statistic)) continue;
    std::vector<std::string> names;
    for (const Statistic one : possible) names.emplace_back(statistic_name(one));
    reader_.complain(*stat_, fmt::format("a rate has no '{}'", statistic_name(statistic)),
                     "it has: " + join(names, ", "));
  }
  if (share_) {
    check_unit(node, "a share", "", false);
  } else {
    check_unit(node, metric_->name + " / time", measure().rate->unit, needs_unit);
  }
  return true;
}

bool MeasureReader::is_counted() {
  const auto counted = [](const MetricInfo& metric) {
    return !metric.unit.empty() && metric.unit != "s" && metric.unit.find('/') == std::string::npos;
  };
  if (counted(*metric_)) return true;
  std::vector<std::string> names;
  for (const MetricInfo& metric : reader_.known().metrics) {
    if (counted(metric)) names.push_back(metric.name);
  }
  reader_.complain(*rate_,
                   fmt::format("{} is measured in {}, not counted: it has no rate", metric_->name,
                               metric_->unit.empty() ? "plain numbers" : metric_->unit),
                   "counted: " + join(names, ", "));
  return false;
}

std::string MeasureReader::share_of() {
  if (!share_) return "";
  reader_.note_ceilings();
  const std::string unit = metric_->unit + "/s";
  const std::vector<std::string> names = ceiling_names(unit);
  std::string word = reader_.text(*share_, "share_of");
  if (std::count(names.begin(), names.end(), word)) return word;
  const bool of_another = std::any_of(std::begin(ceiling_units), std::end(ceiling_units),
                                      [&](const std::string_view other) {
                                        const auto known = ceiling_names(other);
                                        return std::count(known.begin(), known.end(), word) > 0;
                                      });
  reader_.complain(
      *share_,
      of_another ? fmt::format("{} / time is in {}, which the ceiling '{}' is not", metric_->name,
                               unit, word)
                 : fmt::format("ceiling '{}' does not exist", word),
      names.empty() ? fmt::format("none is measured in {}", unit) : known_names(word, names));
  return word;
}

void MeasureReader::check_unit(const Node& node, const std::string& what, const std::string& unit,
                               bool needs_unit) {
  const bool plain = unit.empty() || unit == "count";
  if (!has_unit(measure().statistic) || measure().relative_to) return;
  if (!measure().unit.empty()) {
    if (same_dimension(measure().unit, unit)) return;
    if (!unit_exists(reader_.known(), measure().unit)) return;  // said already
    reader_.complain(*node.find("unit"),
                     fmt::format("{} is measured in {}, which '{}' cannot show", what,
                                 plain ? "plain numbers" : unit, measure().unit),
                     plain ? "leave the unit out" : "units for it: " + join(units_for(unit), ", "));
  } else if (needs_unit && !plain && !column_.format.carries_unit()) {
    reader_.complain(node, fmt::format("'{}' shows {} without naming a unit", column_.name, what),
                     "units for it: " + join(units_for(unit), ", "));
  }
}

void read_measure(Reader& reader, const Node& node, Column& column, bool needs_unit) {
  MeasureReader measure(reader, column);
  if (!reader.entries(node, "'" + column.name + "'", measure.handlers())) return;
  if (!measure.finish(node, needs_unit)) return;
  if (measure.statistics().size() > 1) {
    reader.complain(*node.find("stat"), "one statistic here, not several");
  }
}

}  // namespace assay::report
