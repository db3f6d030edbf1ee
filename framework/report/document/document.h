#pragma once

// report/document holds the finished page and writes it as Markdown or for a terminal. It depends
// on base alone. Start here, then markdown.h.

#include <set>
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

// Stands behind a figure, or the name of a row, that the section "Data quality" explains.
inline constexpr const char* mark_sign = "†";

struct TableColumn {
  std::string name;
  std::vector<std::string> cells;
  char align = 0;                  // l, r, c
  bool numeric = false;            // aligned on the decimal point
  std::vector<std::string> signs;  // behind each cell, such as mark_sign; empty: no cell has one
};

// `marks`: what the section's signs stand for, such as "throttled".
struct TableSection {
  std::vector<TableColumn> columns;
  std::set<std::string> marks = {};
};

struct TextSection {
  std::string text;
  std::string language;
  std::set<std::string> marks = {};
};

struct Picture {
  std::string path;  // relative to the report's folder
  std::string alternative;
  std::set<std::string> marks = {};
};

// Files that hold the section above in other forms.
struct Links {
  std::vector<std::string> paths;  // relative to the report's folder
};

struct List {
  std::vector<std::string> items;  // Markdown
  bool findings = false;           // which a terminal shows as well
  std::set<std::string> marks = {};
};

struct Details {
  std::string summary;
  std::string language;
  std::string text;
};

// The sections between them are folded away until a reader opens them.
struct FoldBegin {
  std::string summary;
};
struct FoldEnd {};

using Section = std::variant<Heading, Paragraph, TableSection, TextSection, Picture, List, Details,
                             FoldBegin, FoldEnd, Links>;

struct Document {
  std::string title;
  std::vector<Section> sections;
  std::vector<Diagnostic> problems = {};  // of blocks that failed
};

}  // namespace assay::report
