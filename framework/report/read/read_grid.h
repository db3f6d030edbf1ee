#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/read/reader.h"

namespace assay::report {

const Keys<GridSpec>& grid_keys();

bool shows_axis(const std::vector<Column>& columns, const std::string& axis);

// Checks the names of a grid after its keys are read. Axes of templates and expressions become
// keys; unknown names and mixed units become complaints.
class NameCheck {
 public:
  NameCheck(Reader& reader, GridSpec& grid, const yaml::Node& at)
      : reader_(reader), grid_(grid), at_(at) {}

  void columns();
  // `extra`: names allowed besides columns and axes.
  void row_template(const Template& text, const std::vector<std::string>& extra = {});
  void rows_template(const Template& text, const std::vector<std::string>& extra = {});

 private:
  void name(const std::string& name, const std::vector<std::string>& extra,
            const SourceLocation& at);
  std::vector<std::string> column_names() const;
  void column_name(const std::string& name, const SourceLocation& at);
  void expression(const Expression& expression, const SourceLocation& at, bool comparing);
  // A column of another unit for each set of figures cannot be calculated with or written about.
  void require_unit(const std::string& name);
  bool is_column(const std::string& name) const;
  // The metric of words that the column shows; "" for any other column.
  std::string words_in_column(const std::string& name) const;
  bool is_word(const Expression& expression, const std::string& name) const;
  bool pivoted(const std::string& name) const;

  Reader& reader_;
  GridSpec& grid_;
  const yaml::Node& at_;
  std::set<std::string> without_unit_;  // columns that were complained of
};

}  // namespace assay::report
