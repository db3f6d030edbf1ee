#pragma once

// report/picture draws plots, timelines and flame graphs with gnuplot: *_block.cpp collects the
// data, *_script.cpp writes the script. It depends on report/table. Start here.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/data/select.h"
#include "report/document/document.h"
#include "report/document/side_files.h"
#include "report/spec/spec.h"

namespace assay::report {

// Files go to `folder`; `number` counts the pictures of one kind in a report.
Result<std::vector<Section>> plot_sections(const Records& records, const PlotSpec& spec,
                                           const SideFiles& folder, int& number);
Result<std::vector<Section>> timeline_sections(const Records& records, const TimelineSpec& spec,
                                               const SideFiles& folder, int& number);
Result<std::vector<Section>> flame_sections(const Records& records, const FlameSpec& spec,
                                            const SideFiles& folder, int& number);

// The rendered title; without one, the values of the combination.
std::string picture_title(const Template& title, const Filter& combination);

// Fails at `where` if the records differ on an axis outside `ignored`; `what` names the picture.
Result<void> require_one_case(const Records& records, const RecordIds& ids,
                              const std::vector<std::string_view>& ignored, std::string_view what,
                              const SourceLocation& where);

// Writes PREFIXNAME.svg and its data, PREFIXNAME.csv. The section holds the picture, or the error.
Section picture(const SideFiles& folder, const std::string& name, const std::string& alternative,
                const std::string& csv,
                const std::function<std::string(const std::filesystem::path& svg)>& script);

}  // namespace assay::report
