#pragma once

#include "report/spec/reader.h"

namespace assay::report {

// Titles of repeated blocks may only name the axes they are repeated over.
void check_title(Reader& reader, const Template& title, const std::vector<std::string>& for_each);

TableSpec read_table(Reader& reader, const yaml::Node& node);
TextSpec read_text(Reader& reader, const yaml::Node& node);
PlotSpec read_plot(Reader& reader, const yaml::Node& node);
TimelineSpec read_timeline(Reader& reader, const yaml::Node& node);
FlameSpec read_flame(Reader& reader, const yaml::Node& node);
FindingsSpec read_findings(Reader& reader, const yaml::Node& node);

// A whole report: a list of blocks, or {report: […]}. Layouts are read where they are named.
ReportSpec read_report(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
