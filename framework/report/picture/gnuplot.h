#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace assay::report {

// Okabe and Ito's colours, which colour-blind readers can distinguish.
inline constexpr std::array colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                    "#E69F00", "#56B4E9", "#000000", "#999999"};

std::string quoted(const std::string& text);
// As a gnuplot string for a tick, where % begins a number format.
std::string tick_label(const std::string& text);

// Width and height are in pixels.
std::string script_opening(const std::filesystem::path& svg, int width, int height);

// Runs the gnuplot on PATH, without a shell, over a temporary script beside the picture. The error
// holds gnuplot's output, or says that it is not installed.
Result<void> draw(const std::string& script, const std::filesystem::path& svg);

}  // namespace assay::report
