#pragma once

#include "report/reader.h"

namespace assay::report {

TableSpec read_table(Reader& reader, const yaml::Node& node);
TextSpec read_text(Reader& reader, const yaml::Node& node);
PlotSpec read_plot(Reader& reader, const yaml::Node& node);
FindingsSpec read_findings(Reader& reader, const yaml::Node& node);

// A whole report: a list of blocks, or {report: […]}. Layouts are read where they are named.
ReportSpec read_report(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
