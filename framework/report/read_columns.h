#pragma once

#include "report/reader.h"

namespace assay::report {

// Everything a figure of the results is chosen by; a column's own keys go to `column`.
// `needs_unit`: a metric that has a unit must be given one to be shown in.
void read_measure(Reader& reader, const yaml::Node& node, Column& column, bool needs_unit);

// The name of a unit that exists or that some metric is measured in.
std::string read_unit(Reader& reader, const yaml::Node& node);

// One entry of `columns`. Parts that have no column of their own (the two figures of a
// `stat: [mean, std]`, measures inside a `join`) become hidden columns before it.
void read_column(Reader& reader, const std::string& name, const yaml::Node& node,
                 std::vector<Column>& columns);

// One entry of `rows`: an axis, or {axis, name, labels, …}. nullopt after a complaint.
std::optional<Column> read_row_axis(Reader& reader, const yaml::Node& node);

Pivot read_pivot(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
