#pragma once

#include <assay/outcome.h>
#include <assay/value.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/spec/spec.h"
#include "store/records/marks.h"

namespace assay::report {

// One place of a table, before formatting.
struct Cell {
  enum class Kind {
    missing,
    undefined,  // computed from a cell without a number
    number,
    text,
    list,  // the samples themselves
    outcome,
  };
  Kind kind = Kind::missing;
  double number = 0;
  bool integral = false;              // a whole number by origin: an axis, a count
  std::string unit;                   // of `number` and `list`
  std::optional<double> uncertainty;  // what stands behind its ±, in `unit`; gives its digits
  bool is_uncertainty = false;        // stands behind a ± itself
  std::string text;                   // Kind::text; an axis value in words
  std::vector<double> list;
  Outcome outcome = Outcome::ok;
  std::string reason;  // why there is no number; may be empty
  std::string formula;
  std::string unverified;  // why the time's pass was not verified
  std::string discarded;   // of an outcome: the mark that hides a measured time, "throttled"
  bool timed = false;      // by a clock, or computed from such figures
  std::vector<store::Mark> marks;  // lower the trust in a figure and in all computed from it

  bool is_number() const { return kind == Kind::number; }

  static Cell of(double number, std::string unit = {});
  static Cell of_text(std::string text);
  static Cell of_outcome(Outcome outcome, std::string reason);
  static Cell undefined(std::string reason);
  static Cell of_value(const Value& value);
};

// The mark of a median whose interval is wide: an interval beside the median says it, too.
inline constexpr std::string_view wide_mark = "wide";

// Appends the marks of `more` that `marks` lacks.
void add_marks(const std::vector<store::Mark>& more, std::vector<store::Mark>& marks);

// For expressions: numbers and text; monostate for everything else.
Value to_value(const Cell& cell);

// Formatted by the column, whose cell texts precede the block's. `beside_text`: another cell of the
// column is text.
std::string display(const Cell& cell, const Column& column, const CellTexts& block,
                    bool beside_text = false);

// `sign`: behind the figure, within the field's width.
std::string display(const Cell& cell, const Column& column, const CellTexts& block,
                    const FieldSpec& spec, std::string_view sign = {});

// Replaces each number by "#": "12 MiB requested" and "24 MiB requested" become one reason.
std::string without_numbers(const std::string& reason);

}  // namespace assay::report
