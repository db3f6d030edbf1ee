#pragma once

// report/spec says what a report is to show: the structs, reading them from YAML, their JSON
// Schema, and the words they use (formats, units, statistics). It depends on expression, yaml and
// units of store/records. Start here, then read_blocks.h.

#include <assay/metric.h>
#include <assay/outcome.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "expression/expression.h"
#include "report/spec/format.h"
#include "report/spec/statistic.h"
#include "report/spec/text_template.h"

// The report grammar, read and checked: what the YAML says, with every name known to exist.
namespace assay::report {

// One axis restricted to values, as a spec writes them.
struct Condition {
  std::string axis;
  std::vector<std::string> values;
};

// Whether a value as a spec writes it ("64", "100 MiB", "true", "flash") names this value.
bool names_value(std::string_view text, const Value& value);

struct Filter {
  std::vector<Condition> conditions;
  std::vector<Expression> expressions;  // over axis names

  bool empty() const { return conditions.empty() && expressions.empty(); }
  const Condition* on(std::string_view axis) const;
  void add(const Filter& other);
};

// How the ranks of one measurement become one number.
enum class RankRule {
  maximum,  // of each iteration: a step takes as long as its slowest rank
  minimum,
  mean,
  pool,  // all samples of all ranks together
};

// How fast something was done: count / time.
struct Rate {
  std::string count;     // the metric that is counted: flops, bytes
  std::string unit;      // of the rate in base units: FLOP/s, byte/s
  std::string share_of;  // divided by this ceiling (report/data/ceilings.h); "": not divided
};

// A figure of the stored results.
struct Measure {
  std::string metric;  // of a rate its time
  std::optional<Rate> rate;
  Filter where;  // pass, part, source and a single rank are conditions like any other
  RankRule ranks = RankRule::maximum;
  std::vector<std::string> pool;  // axes whose values are taken together
  Statistic statistic = Statistic::mean;
  std::string unit;                   // "" only where the metric has none or the format carries it
  std::optional<Filter> relative_to;  // divided by the same figure there
  bool inverse = false;               // …or that figure divided by this one
};

struct AxisContent {
  std::string axis;
  std::string unit;  // of sizes and durations
};
struct ExpressionContent {
  Expression expression;
  std::string unit;
};
struct JoinContent {
  std::vector<std::string> parts;  // names of columns or axes
  std::string separator;
  bool drops_undefined = false;  // a part that is not there goes with its separator
};
struct TemplateContent {
  Template text;
};
struct OutcomeContent {};  // the first outcome of the row that is not ok

// Texts for cells that are not numbers, by outcome, or `missing`, `undefined`.
using CellTexts = std::map<std::string, std::string>;

// Keys that `cells:` may have.
const std::vector<std::string>& cell_text_keys();

struct Column {
  std::string name;
  std::variant<AxisContent, Measure, ExpressionContent, JoinContent, TemplateContent,
               OutcomeContent>
      content;
  Format format;
  std::map<std::string, std::string> labels;  // value → what is shown
  std::optional<std::string> other_label;     // for values without one
  CellTexts cells;                            // over the block's
  char align = 0;                             // l, r, c, or 0: by content
  bool shown = true;
  SourceLocation where;
};

struct Pivot {
  std::vector<std::string> by;
  Column column;  // its Measure is what every column shows
  Template name;
};

struct SortKey {
  std::string name;  // a column or an axis
  bool descending = false;
};

struct Note {
  Template each;
  std::string separator = "\n";
  std::string last;              // between the last two; the separator where empty
  std::optional<Template> text;  // {rows}; without it the rows alone
};

// What a table and a text block share: which rows, which cells.
struct GridSpec {
  std::vector<std::string> keys;  // axes that tell rows apart
  bool varying_rows = false;      // nothing said: the axes that vary, each with a column
  std::vector<Column> columns;
  std::vector<Pivot> pivots;
  Filter where;
  std::vector<SortKey> sort;
  std::vector<Outcome> omit;
  std::optional<Note> note;
  std::optional<Expression> keep;  // over columns: rows for which it holds
  std::size_t limit = 0;           // 0: all
  CellTexts cells;
  bool reasons = true;
  bool formulas = true;  // how its rates are derived, below
};

struct TableSpec {
  GridSpec grid;
  bool index = false;
  Template title;
  std::vector<Template> summary;
  std::vector<std::string> for_each;
};

struct Each {
  std::string name;
  std::vector<std::string> over;  // axes
  Template row;
  std::string separator = "\n";
};

struct Group {
  std::vector<std::string> by;
  std::optional<Template> before, between, after;
};

struct TextSpec {
  GridSpec grid;
  std::optional<Template> before, header, row, between, after;
  std::map<Outcome, Template> row_when;
  std::vector<Each> each;
  std::optional<Group> group;
  Template title;
  std::vector<std::string> for_each;
};

struct PlotSpec {
  std::string x;
  std::string x_unit;  // of sizes and durations
  Measure y;
  std::string y_title;
  std::vector<std::string> series;
  std::map<std::string, std::string> labels;
  Filter where;
  bool log_x = false, log_y = false;
  // known: the standard deviation, or where no point has one the interval.
  enum class Bars { known, none, std, interval } bars = Bars::known;
  Template title;
  std::vector<std::string> for_each;
  SourceLocation at;
};

// How much of the time of one part lies within that of another.
struct OverlapSpec {
  std::string of, with;
};

// One case over time: values, or lanes of spans. framework/report/picture/timeline.h says which
// series.
struct TimelineSpec {
  std::vector<std::string> values;  // metrics
  std::string unit;                 // of the values; "": what suits them
  std::vector<std::string> lanes;   // parts, from the top
  std::vector<std::string> phases;  // parts marked behind
  std::optional<OverlapSpec> overlap;
  std::map<std::string, std::string> labels;  // metric or part → what is shown
  Filter where;
  Template title;
  std::vector<std::string> for_each;
  SourceLocation at;
};

// Where one case spends a metric: its parts are stacks. framework/report/picture/flame.h says how.
struct FlameSpec {
  std::string metric = "time";
  std::string unit;                                            // "": what suits it
  std::vector<std::pair<std::string, SourceLocation>> shares;  // frames with a row of a table each
  Filter where;
  Template title;
  std::vector<std::string> for_each;
  SourceLocation at;
};

struct FindingSpec {
  std::string kind;  // speedup, scaling, warmup, noise, failures
  std::string axis;  // speedup: the variant axis; scaling: the numeric one; "": all
  std::string baseline;
  std::string by;  // speedup: an axis whose values are told one by one, too
  Filter where;
};

struct HeadingSpec {
  int level = 2;
  std::string text;
};
struct ProseSpec {
  std::string text;
};
struct FindingsSpec {
  std::vector<FindingSpec> findings;
};

using Block = std::variant<HeadingSpec, ProseSpec, TableSpec, TextSpec, PlotSpec, TimelineSpec,
                           FlameSpec, FindingsSpec>;

// A figure of several statistics is made of hidden columns, "MFU#0": the name that is shown.
inline std::string shown_name(const std::string& column) {
  return column.substr(0, column.find('#'));
}

struct ReportSpec {
  std::vector<Block> blocks;
  std::vector<SourceLocation> places;  // of each block's entry in the spec; its layout's, if any
  bool wants_ceilings = false;         // some figure is a share of one
};

// What a spec may name.
struct Vocabulary {
  std::vector<std::string> axes;
  // Of an axis whose values are all known; any value may be named of the others.
  std::map<std::string, std::vector<Value>> values;
  std::vector<MetricInfo> metrics;
  std::vector<std::string> passes;
  std::filesystem::path layouts;  // folder of NAME.yaml; empty: none
  // Axes and passes are not known, and any name may be one: of an experiment that has mistakes
  // itself.
  bool open = false;

  const MetricInfo* metric(std::string_view name) const;
  bool has_axis(std::string_view name) const;
  // Whether there is such a unit, or some metric, or its rate, is measured in it.
  bool has_unit(const std::string& name) const;
  // Those of `distinct` are new to the axis; monostate is passed over.
  void add_values(const std::string& axis, const std::vector<Value>& distinct);
  void add_value(const std::string& axis, const Value& value);
};

}  // namespace assay::report
