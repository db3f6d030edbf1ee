#pragma once

// report/document holds the finished page and writes it as Markdown or for a terminal. It depends
// on base alone. Start here, then markdown.h.

#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace assay::report {

struct Heading {
  int level = 2;
  std::string text;
};

struct Paragraph {
  std::string text;  // Markdown
};

// Stands behind a figure that a line below the table explains.
inline constexpr const char* mark_sign = "†";

struct TableColumn {
  std::string name;
  std::vector<std::string> cells;
  char align = 0;                  // l, r, c
  bool numeric = false;            // aligned on the decimal point
  std::vector<std::string> signs;  // behind each cell, such as mark_sign; empty: no cell has one
};

struct TableSection {
  std::vector<TableColumn> columns;
};

struct TextSection {
  std::string text;
  std::string language;
};

struct Picture {
  std::string path;  // relative to the report's folder
  std::string alternative;
};

struct List {
  std::vector<std::string> items;  // Markdown
  bool findings = false;           // which a terminal shows as well
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
  std::vector<Diagnostic> problems = {};  // of blocks that failed
};

}  // namespace assay::report
