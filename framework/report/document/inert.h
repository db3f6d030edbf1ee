#pragma once

#include <string>
#include <string_view>

namespace assay::report {

// Markdown in which text of unknown origin may stand, such as an imported title: raw HTML,
// pictures, and links to anything but a web page, a heading or a file beside the report become
// plain text. What stands in `code` or between fences stays as it is.
std::string inert(std::string_view markdown);

// The same on one line.
std::string inert_line(std::string_view markdown);

// Whether a link may lead to what `text` begins with, up to ")": a web page, a heading, or a file
// beside the report.
bool is_harmless_target(std::string_view text);

}  // namespace assay::report
