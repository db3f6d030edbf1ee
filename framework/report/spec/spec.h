#pragma once

// report/spec says what a report shows: the structs and their vocabulary (formats, units,
// statistics); report/read reads them from YAML. It depends on expression, yaml and the units of
// store/records. Start here.

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

namespace assay::report {

// An axis restricted to values, in the spec's words.
struct Condition {
  std::string axis;
  std::vector<std::string> values;
};

// Whether the spec's word ("64", "100 MiB", "true", "flash") names this value.
bool names_value(std::string_view text, const Value& value);

struct Filter {
  std::vector<Condition> conditions;
  std::vector<Expression> expressions;

  bool empty() const { return conditions.empty() && expressions.empty(); }
  const Condition* on(std::string_view axis) const;
  void add(const Filter& other);
};

// How the ranks of one measurement become one number.
enum class RankRule {
  maximum,  // per iteration: a step takes as long as its slowest rank
  minimum,
  mean,
  pool,
};

struct Rate {
  std::string count;     // a metric: flops, bytes
  std::string unit;      // the rate's base unit: FLOP/s, byte/s
  std::string share_of;  // the ceiling (report/data/ceilings.h) that divides it; "": none
};

struct Measure {
  std::string metric;  // "time" for a rate
  std::optional<Rate> rate;
  Filter where;  // also pass, part, source and a single rank
  RankRule ranks = RankRule::maximum;
  std::vector<std::string> pool;
  Statistic statistic = Statistic::mean;
  bool names_statistic = false;       // else settle_statistics() gives a time that of its report
  std::string unit;                   // "": the metric has none, or the format carries it
  bool scaled = false;                // a table chooses one unit for the column's figures
  std::optional<Filter> relative_to;  // the baseline that divides it
  bool inverse = false;               // the baseline is divided instead
};

struct AxisContent {
  std::string axis;
  std::string unit;  // for sizes and durations
};
struct ExpressionContent {
  Expression expression;
  std::string unit;
};
struct JoinContent {
  std::vector<std::string> parts;
  std::string separator;
  bool drops_undefined = false;  // omits an undefined part with its separator
};
struct TemplateContent {
  Template text;
};
struct OutcomeContent {};  // the first failed outcome of the row

// Texts for cells without a number, by outcome, `missing` or `undefined`.
using CellTexts = std::map<std::string, std::string>;

const std::vector<std::string>& cell_text_keys();
std::string default_cell_text(const std::string& key);

struct Column {
  std::string name;
  std::variant<AxisContent, Measure, ExpressionContent, JoinContent, TemplateContent,
               OutcomeContent>
      content;
  Format format;
  std::map<std::string, std::string> labels;  // shown text by value
  std::optional<std::string> other_label;     // for other values
  CellTexts cells;                            // precede the block's
  char align = 0;                             // l, r, c; 0: by content
  bool shown = true;
  SourceLocation where;
};

struct Pivot {
  std::vector<std::string> by;
  Column column;  // the template of every column; a Measure
  Template name;
};

struct SortKey {
  std::string name;
  bool descending = false;
};

struct Note {
  Template each;
  std::string separator = "\n";
  std::string last;  // before the last row; "": the separator
  std::optional<Template> text;
};

struct GridSpec {
  std::vector<std::string> keys;  // axes of rows
  bool varying_rows = false;      // no keys: the axes that vary, with a column each
  std::vector<Column> columns;
  std::vector<Pivot> pivots;
  Filter where;
  std::vector<SortKey> sort;
  std::vector<Outcome> omit;
  std::optional<Note> note;
  std::optional<Expression> keep;
  std::size_t limit = 0;
  CellTexts cells;
  bool reasons = true;
  bool formulas = true;
  std::optional<Centre> centre;  // of the times that name no statistic; by default the report's
  std::string centre_note;       // below the title, where its centre is not the report's

  void add_key(const std::string& axis);
};

// Of a table besides Markdown.
enum class TableForm { latex, csv };

struct TableSpec {
  GridSpec grid;
  bool index = false;
  std::vector<TableForm> forms;  // in files beside the report
  Template title;
  std::vector<Template> summary;
  std::vector<std::string> for_each;
};

struct Each {
  std::string name;
  std::vector<std::string> over;
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
  // automatic: bars over names, a line over numbers.
  enum class Kind { automatic, line, bars, box, roofline } kind = Kind::automatic;
  bool log_x = false, log_y = false;
  // known: what belongs to the statistic. The interval of a median; the standard deviation around
  // a mean, or its interval where no point has one; none of any other.
  enum class Bars { known, none, std, interval } bars = Bars::known;
  Template title;
  std::vector<std::string> for_each;
  SourceLocation at;
};

// The share of one part's time that lies within another's.
struct OverlapSpec {
  std::string of, with;
};

// One case over time: values, or lanes of spans (report/picture/timeline.h).
struct TimelineSpec {
  std::vector<std::string> values;  // metrics
  std::string unit;                 // of the values; "": chosen by magnitude
  std::vector<std::string> lanes;   // parts, from the top
  std::vector<std::string> phases;  // parts marked in the background
  std::optional<OverlapSpec> overlap;
  std::map<std::string, std::string> labels;  // shown text by metric or part
  Filter where;
  Template title;
  std::vector<std::string> for_each;
  SourceLocation at;
};

// The parts of one case as stacks of a metric (report/picture/flame.h).
struct FlameSpec {
  std::string metric = "time";
  std::string unit;                                            // "": chosen by magnitude
  std::vector<std::pair<std::string, SourceLocation>> shares;  // frames listed in a table
  Filter where;
  Template title;
  std::vector<std::string> for_each;
  SourceLocation at;
};

// The files that cases have left (store::Artefact).
struct ArtefactsSpec {
  std::vector<std::string> media_types;  // "application/json", "image/*"; empty: all
  Filter where;
  Template title;
  std::vector<std::string> for_each;
};

struct FindingSpec {
  std::string kind;
  std::string axis;  // of variants (speedup) or numbers (scaling); "": all
  std::string baseline;
  std::string by;                // speedup: an axis with a mean for each value, too
  std::string with;              // speedup: an axis that may differ with `axis`
  std::optional<Centre> centre;  // of times; by default the report's
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
                           FlameSpec, ArtefactsSpec, FindingsSpec>;

// "MFU" of the hidden columns "MFU#0", "MFU#1" that make a figure of several statistics.
inline std::string shown_name(const std::string& column) {
  return column.substr(0, column.find('#'));
}

struct ReportSpec {
  std::vector<Block> blocks;
  std::vector<SourceLocation> places;  // of each block in the spec, or of its layout's name
  bool wants_ceilings = false;
};

struct Vocabulary {
  std::vector<std::string> axes;
  // Absent axes may have any value.
  std::map<std::string, std::vector<Value>> values;
  std::vector<MetricInfo> metrics;
  std::vector<std::string> passes;
  std::vector<std::string> lanes;  // of spans
  std::filesystem::path layouts;   // folder of NAME.yaml, or its subfolders; empty: none
  bool open = false;               // accepts any axis and pass: the experiment itself has mistakes

  const MetricInfo* metric(std::string_view name) const;
  // Whether it holds words: shown as they are, never in arithmetic.
  bool is_text(std::string_view metric) const;
  bool has_axis(std::string_view name) const;
  // Whether it is a known unit, or that of a metric or of its rate.
  bool has_unit(const std::string& name) const;
  // Both skip monostate; `distinct` must be new to the axis.
  void add_values(const std::string& axis, const std::vector<Value>& distinct);
  void add_value(const std::string& axis, const Value& value);
};

}  // namespace assay::report
