#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

struct Anchor {
  int level = 1;
  std::string text;  // of the heading
  std::string name;  // "1-how-long": what a link to it names after `#`
};

// The headings of a Markdown text, without those in code blocks, with the anchors that GitHub gives
// them: lower-case letters, digits, `-` and `_`, blanks as `-`; a repeated one ends in -1, -2, ….
std::vector<Anchor> anchors_of(std::string_view markdown);

// "- [1. How long?](#1-how-long)", each on a line, a heading of a lower level indented. Of levels 2
// to `deepest`, without the heading `except`.
std::string contents_of(const std::vector<Anchor>& anchors, int deepest, std::string_view except);

}  // namespace assay::report
