#pragma once

#include <string>
#include <vector>

#include "report/spec/reader.h"

namespace assay::report {

// The keys that tables and text blocks share.
const Keys<GridSpec>& grid_keys();

// After the keys are read: axes that only templates and expressions name become keys; names that
// are neither column nor axis, and expressions that mix units, are complaints at `at`.
class NameCheck {
 public:
  NameCheck(Reader& reader, GridSpec& grid, const yaml::Node& at)
      : reader_(reader), grid_(grid), at_(at) {}

  void columns();
  // `extra` names are allowed besides columns and axes.
  void row_template(const Template& text, const std::vector<std::string>& extra = {});
  void rows_template(const Template& text, const std::vector<std::string>& extra = {});

 private:
  void name(const std::string& name, const std::vector<std::string>& extra,
            const SourceLocation& at);
  std::vector<std::string> column_names() const;
  void column_name(const std::string& name, const SourceLocation& at);
  void expression(const Expression& expression, const SourceLocation& at, bool comparing);
  bool is_word(const Expression& expression, const std::string& name) const;
  bool pivoted(const std::string& name) const;

  Reader& reader_;
  GridSpec& grid_;
  const yaml::Node& at_;
};

}  // namespace assay::report
