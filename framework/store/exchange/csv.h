#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "store/exchange/import_formats.h"

namespace assay::store {

struct CsvCell {
  std::string text;  // without quotes; an unquoted cell is trimmed
  int line = 1;
  int column = 1;  // in characters
};

using CsvRow = std::vector<CsvCell>;

// Rows of a CSV after RFC 4180: comma, double quotes, a quote inside a quoted cell doubled; any
// line end. Skips empty lines.
class CsvReader {
 public:
  // Both must outlive the reader.
  CsvReader(std::string_view text, Problems& problems) : text_(text), problems_(problems) {}

  // False at the end.
  bool next(CsvRow& row);

 private:
  bool at_end() const { return position_ == text_.size(); }
  bool at_line_end() const {
    return at_end() || text_[position_] == '\n' || text_[position_] == '\r';
  }
  char take();
  void take_line_end();
  CsvCell quoted_cell();
  CsvCell plain_cell();

  std::string_view text_;
  Problems& problems_;
  std::size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace assay::store
