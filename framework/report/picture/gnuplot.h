#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace assay::report {

// Okabe and Ito's colours, which stay apart for colour-blind readers.
inline constexpr std::array colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                    "#E69F00", "#56B4E9", "#000000", "#999999"};

// A text as a script has it.
std::string quoted(const std::string& text);
// The same for the label of a tick, in which gnuplot takes % for a format of the number.
std::string tick_label(const std::string& text);

// What every script begins with: an SVG of this many pixels on white, a light grid, two axes.
std::string script_opening(const std::filesystem::path& svg, int width, int height);

// Runs the gnuplot found on PATH, without a shell, over a script kept beside the picture meanwhile.
// An error says what gnuplot said, or that there is none.
Result<void> draw(const std::string& script, const std::filesystem::path& svg);

// A cell of a CSV file, in quotes where it needs them.
std::string csv_cell(const std::string& text);

}  // namespace assay::report
