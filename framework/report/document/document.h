#pragma once

// report/document is the finished page, and how it is written as Markdown and for a terminal. It
// depends on base alone. Start here, then markdown.h.

#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace assay::report {

// A finished report: everything is text, nothing has to be looked up any more.

struct Heading {
  int level = 2;
  std::string text;
};

struct Paragraph {
  std::string text;  // Markdown
};

// Stands behind a figure that a line below its table says something of.
inline constexpr const char* mark_sign = "†";

struct TableColumn {
  std::string name;
  std::vector<std::string> cells;
  char align = 0;        // l, r, c
  bool numeric = false;  // aligned on the decimal point
  // What stands behind each cell, such as mark_sign; empty where no cell of the column has any.
  std::vector<std::string> signs;
};

struct TableSection {
  std::vector<TableColumn> columns;
};

struct TextSection {
  std::string text;  // lines of a code block
  std::string language;
};

struct Picture {
  std::string path;  // relative to the report's folder
  std::string alternative;
};

struct List {
  std::vector<std::string> items;  // Markdown
};

struct Details {
  std::string summary;
  std::string language;
  std::string text;
};

using Section = std::variant<Heading, Paragraph, TableSection, TextSection, Picture, List, Details>;

struct Document {
  std::string title;
  std::vector<Section> sections;
  std::vector<Diagnostic> problems = {};  // of blocks that could not be made
};

}  // namespace assay::report
