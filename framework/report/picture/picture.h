#pragma once

// report/picture draws plots, timelines and flame graphs with gnuplot: a *_block.cpp collects the
// data of one, its *_script.cpp writes the script. It depends on report/table. Start here.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/document/document.h"
#include "report/spec/spec.h"

namespace assay::report {

// A block of a spec as sections of the document. Files go to `folder`; `number` tells the pictures
// of one kind in a report apart.
Result<std::vector<Section>> plot_sections(const Records& records, const PlotSpec& spec,
                                           const std::filesystem::path& folder, int& number);
Result<std::vector<Section>> timeline_sections(const Records& records, const TimelineSpec& spec,
                                               const std::filesystem::path& folder, int& number);
Result<std::vector<Section>> flame_sections(const Records& records, const FlameSpec& spec,
                                            const std::filesystem::path& folder, int& number);

// The title as written, or else the values that this one of several pictures is of.
std::string picture_title(const Template& title, const Filter& combination);

// Draws NAME.svg in the folder, with its data beside it as NAME.csv. Where that cannot be done the
// section says why.
Section picture(const std::filesystem::path& folder, const std::string& name,
                const std::string& alternative, const std::string& csv,
                const std::function<std::string(const std::filesystem::path& svg)>& script);

}  // namespace assay::report
