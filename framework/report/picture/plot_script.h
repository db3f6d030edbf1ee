#pragma once

#include <filesystem>
#include <string>

#include "report/picture/plot_data.h"

namespace assay::report {

// A failure stands on the axis with its word, a marked point in a ring. Lines are named at their
// ends where the names fit beside each other, else in the legend.
std::string gnuplot_script(const PlotData& data, const std::filesystem::path& svg);

}  // namespace assay::report
