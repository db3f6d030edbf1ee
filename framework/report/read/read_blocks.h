#pragma once

#include "report/read/reader.h"

namespace assay::report {

const Keys<TableSpec>& table_keys();
const Keys<TextSpec>& text_keys();
const Keys<PlotSpec>& plot_keys();
const Keys<TimelineSpec>& timeline_keys();
const Keys<FlameSpec>& flame_keys();
const Keys<ArtefactsSpec>& artefacts_keys();

nlohmann::json block_schema();

TableSpec read_table(Reader& reader, const yaml::Node& node);
TextSpec read_text(Reader& reader, const yaml::Node& node);
PlotSpec read_plot(Reader& reader, const yaml::Node& node);
TimelineSpec read_timeline(Reader& reader, const yaml::Node& node);
FlameSpec read_flame(Reader& reader, const yaml::Node& node);
ArtefactsSpec read_artefacts(Reader& reader, const yaml::Node& node);

// Complains about names in a block's title besides the axes of `for_each`.
void check_title(Reader& reader, const Template& title, const std::vector<std::string>& for_each);

// A report: a list of blocks, or {report: […]}. Reads layouts in place.
ReportSpec read_report(Reader& reader, const yaml::Node& node);

}  // namespace assay::report
