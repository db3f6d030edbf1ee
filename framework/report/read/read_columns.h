#pragma once

#include "report/read/reader.h"

namespace assay::report {

// A column of any kind while its keys are read.
struct ColumnDraft {
  Column column;
  std::string axis;
  std::optional<std::string> separator;
  std::optional<Expression> expression;
  std::optional<Template> text;    // of a pivot: the names of columns
  std::vector<std::string> parts;  // of a join
  std::vector<Column> inner;       // hidden columns of a join
  std::vector<std::string> by;     // of a pivot
  Measure measure;                 // its unit is that of any content
  std::vector<Statistic> statistics;
  const MetricInfo* metric = nullptr;
  const yaml::Node* rate = nullptr;
  const yaml::Node* share = nullptr;
  const yaml::Node* stat = nullptr;
};

// `kind`: axis, metric, rate, expr, join, text or outcome; without it, the keys of all kinds.
const Keys<ColumnDraft>& column_keys();
const Keys<ColumnDraft>& column_keys(const std::string& kind);
const Keys<ColumnDraft>& figure_keys();
const Keys<ColumnDraft>& row_axis_keys();
const Keys<ColumnDraft>& pivot_keys();

// Makes the draft's content from its measure. False: a complaint leaves no figure. `needs_unit`:
// without a unit its column chooses one (Measure::scaled), or there is a complaint.
bool finish_figure(Reader& reader, const yaml::Node& node, ColumnDraft& draft, bool needs_unit);

// `unit`: the base unit of `what`.
void complain_of_no_unit(Reader& reader, const SourceLocation& at, const std::string& column,
                         const std::string& what, const std::string& unit);

void read_figure(Reader& reader, const yaml::Node& node, const Keys<ColumnDraft>& keys,
                 ColumnDraft& draft, bool needs_unit);

// An entry of `columns`. Inner figures (of `stat: [mean, std]`, of a `join`) become hidden columns
// before it.
void read_column(Reader& reader, const std::string& name, const yaml::Node& node,
                 std::vector<Column>& columns);

// An entry of `rows`: an axis, or {axis, name, labels, …}. nullopt after a complaint.
std::optional<Column> read_row_axis(Reader& reader, const yaml::Node& node);

Pivot read_pivot(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
