#pragma once

#include <string>
#include <vector>

#include "profile.h"

namespace assay::kernels {

constexpr std::size_t most_frames = 5000;

// "a;b;c 1234" a line, in nanoseconds, as flame graph tools read them.
std::string folded(const std::vector<StackTotal>& stacks);

// A flame graph (Gregg, "The Flame Graph", Communications of the ACM, 2016), callers on top. One
// self-contained file: in a browser a click on a frame zooms to it, the field above searches, and
// the address keeps both (#zoom=…&search=…). Of more than most_frames the widest are drawn.
std::string flame_svg(const std::vector<StackTotal>& stacks, const std::string& title);

}  // namespace assay::kernels
