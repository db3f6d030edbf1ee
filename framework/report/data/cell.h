#pragma once

#include <assay/outcome.h>
#include <assay/value.h>

#include <string>
#include <vector>

#include "report/spec/spec.h"
#include "store/records/marks.h"

namespace assay::report {

// What one place of a table holds, before it is written.
struct Cell {
  enum class Kind {
    missing,    // no result is stored for it
    undefined,  // derived from what is not a number
    number,
    text,
    list,     // the samples themselves
    outcome,  // a result that is not ok
  };
  Kind kind = Kind::missing;
  double number = 0;
  bool integral = false;  // came as a whole number: an axis, a count
  std::string unit;       // of `number` and `list`
  std::string text;       // Kind::text; for an axis its value in words
  std::vector<double> list;
  Outcome outcome = Outcome::ok;
  std::string reason;      // why it is no number, where anything can be said
  std::string formula;     // how a rate was derived
  std::string unverified;  // of a time whose pass nobody has checked: why
  // Of an outcome: "throttled", why a time that was measured is not shown.
  std::string discarded;
  // Why a figure deserves less trust; also of what is computed from such figures.
  std::vector<store::Mark> marks;

  bool is_number() const { return kind == Kind::number; }

  static Cell of(double number, std::string unit = {});
  static Cell of_text(std::string text);
  static Cell of_outcome(Outcome outcome, std::string reason);
  // What could not be derived, and why.
  static Cell undefined(std::string reason);
  static Cell of_value(const Value& value);
};

// Those of `more` that are not among `marks` yet.
void add_marks(const std::vector<store::Mark>& more, std::vector<store::Mark>& marks);

// For expressions: numbers and text; monostate for everything else.
Value to_value(const Cell& cell);

// As the column writes it; the texts of its own go before those of its block. `beside_text`:
// another cell of the column is text.
std::string display(const Cell& cell, const Column& column, const CellTexts& block,
                    bool beside_text = false);

// The same where a template gives its own specification.
std::string display(const Cell& cell, const Column& column, const CellTexts& block,
                    const FieldSpec& spec);

// Figures in a reason replaced, so that "12 MiB requested" and "24 MiB requested" are one reason.
std::string without_numbers(const std::string& reason);

}  // namespace assay::report
