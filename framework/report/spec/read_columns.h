#pragma once

#include "report/spec/reader.h"

namespace assay::report {

// A column while its keys are read, whatever it shows.
struct ColumnDraft {
  Column column;
  std::string axis;
  std::optional<std::string> separator;
  std::optional<Expression> expression;
  std::optional<Template> text;    // of a pivot: of its columns' names
  std::vector<std::string> parts;  // of a join
  std::vector<Column> inner;       // columns that are only parts of it
  std::vector<std::string> by;     // of a pivot
  // A figure, whose unit is that of whatever is shown.
  Measure measure;
  std::vector<Statistic> statistics;
  const MetricInfo* metric = nullptr;
  const yaml::Node* rate = nullptr;
  const yaml::Node* share = nullptr;
  const yaml::Node* stat = nullptr;
};

// Everything a column may say; one that shows this (axis, metric, rate, expr, join, text, outcome);
// a figure of a plot; an entry of `rows`; one of `pivot`.
const Keys<ColumnDraft>& column_keys();
const Keys<ColumnDraft>& column_keys(const std::string& kind);
const Keys<ColumnDraft>& figure_keys();
const Keys<ColumnDraft>& row_axis_keys();
const Keys<ColumnDraft>& pivot_keys();

// Makes a figure of what has been read from `node`: the content of the draft's column. False after
// a complaint that leaves none. `needs_unit`: one that has a unit must be given it to be shown in.
bool finish_figure(Reader& reader, const yaml::Node& node, ColumnDraft& draft, bool needs_unit);

// A figure on its own, of one statistic.
void read_figure(Reader& reader, const yaml::Node& node, const Keys<ColumnDraft>& keys,
                 ColumnDraft& draft, bool needs_unit);

// One entry of `columns`. Parts that have no column of their own (the two figures of a
// `stat: [mean, std]`, measures inside a `join`) become hidden columns before it.
void read_column(Reader& reader, const std::string& name, const yaml::Node& node,
                 std::vector<Column>& columns);

// One entry of `rows`: an axis, or {axis, name, labels, …}. nullopt after a complaint.
std::optional<Column> read_row_axis(Reader& reader, const yaml::Node& node);

Pivot read_pivot(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
