#pragma once

#include "report/spec/read_measure.h"

namespace assay::report {

// One entry of `columns`. Parts that have no column of their own (the two figures of a
// `stat: [mean, std]`, measures inside a `join`) become hidden columns before it.
void read_column(Reader& reader, const std::string& name, const yaml::Node& node,
                 std::vector<Column>& columns);

// One entry of `rows`: an axis, or {axis, name, labels, …}. nullopt after a complaint.
std::optional<Column> read_row_axis(Reader& reader, const yaml::Node& node);

Pivot read_pivot(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
