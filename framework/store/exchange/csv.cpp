#include "store/exchange/csv.h"

#include "base/text.h"

namespace assay::store {

bool CsvReader::next(CsvRow& row) {
  row.clear();
  while (!at_end() && at_line_end()) take_line_end();
  if (at_end()) return false;
  while (true) {
    row.push_back(text_[position_] == '"' ? quoted_cell() : plain_cell());
    if (at_line_end()) break;
    take();
    if (at_line_end()) {
      row.push_back({{}, line_, column_});
      break;
    }
  }
  if (!at_end()) take_line_end();
  return true;
}

char CsvReader::take() {
  const char c = text_[position_++];
  const bool continues_character = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else if (!continues_character) {
    ++column_;
  }
  return c;
}

void CsvReader::take_line_end() {
  if (take() == '\r') {
    if (!at_end() && text_[position_] == '\n') {
      take();
    } else {
      ++line_;
      column_ = 1;
    }
  }
}

CsvCell CsvReader::quoted_cell() {
  CsvCell cell{{}, line_, column_};
  take();
  while (!at_end()) {
    if (text_[position_] != '"') {
      cell.text += take();
      continue;
    }
    take();
    if (at_line_end() || text_[position_] == ',') return cell;
    if (text_[position_] != '"') {
      problems_.add(line_, column_, "text after a closing quote",
                    "a quote inside a quoted cell is written twice");
      while (!at_line_end() && text_[position_] != ',') take();
      return cell;
    }
    cell.text += take();
  }
  problems_.add(cell.line, cell.column, "this quote is never closed");
  return cell;
}

CsvCell CsvReader::plain_cell() {
  CsvCell cell{{}, line_, column_};
  bool complained = false;
  while (!at_line_end() && text_[position_] != ',') {
    if (text_[position_] == '"' && !complained) {
      complained = true;
      problems_.add(line_, column_, "a quote inside an unquoted cell",
                    "quote the whole cell and write the quote twice");
    }
    cell.text += take();
  }
  cell.text = std::string(trim(cell.text));
  return cell;
}

}  // namespace assay::store
