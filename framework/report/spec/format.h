#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::report {

// The part after the colon in "{name:<12.3f}", in Python's grammar:
// [[fill]align][sign][#][0][width][,][.precision][type].
struct FieldSpec {
  std::string fill = " ";
  char align = 0;  // < > ^, or 0: numbers right, text left
  int width = 0;
  std::string number = "{}";  // the rest of the specification, for fmt
  bool group = false;
  bool percent = false;
  bool shapes_number = false;  // sets more than the width
};

Result<FieldSpec> parse_field_spec(std::string_view text);
std::string format_number(double value, const FieldSpec& spec);
std::string pad(std::string_view text, const FieldSpec& spec, char default_align = '<');

// The number format of a column.
//   auto        the usual one: by the figure's uncertainty (numbers.h)
//   g6, g(n)    six (n) significant digits, like C's %g
//   g6(n)       g6 of the value rounded to n decimals; n decimals in a column that holds text
//   repr        the shortest text that reads back as the same number; whole numbers keep ".0"
//   sci(n)      $1.36 \cdot 10^{-2}s$; plain from 1 up: 1.29 s. The unit's place is a second word:
//               sci(n, text) \text{s}, sci(n, after) $…$ s, sci(n, bare) no unit; without LaTeX
//               sci(n, plain) 1.36e-02 s
//   si3, si(n)  n significant digits with a decimal prefix: 323 ms, 1.21 s
//   eng(n)      n decimals with a decimal prefix: 168.334 ms
//   iec, iec(n) two (n) decimals with a binary prefix: 698.99 MiB
//   thousands   128,625,408
//   plain       repr without ".0"
//   {:.3f}      Python's format specification in a text: "{:.1f}x"
struct Format {
  enum class Kind {
    automatic,
    general,
    rounded,
    repr,
    scientific,
    si,
    engineering,
    iec,
    thousands,
    plain,
    pattern
  };
  enum class UnitPlace { inside, text, after, bare, plain };
  Kind kind = Kind::automatic;
  int digits = 6;
  UnitPlace unit_place = UnitPlace::inside;
  FieldSpec spec;
  std::string before, after;  // pattern: the text around the number

  // Writes the unit beside the number: the column needs none.
  bool carries_unit() const {
    return kind == Kind::scientific || kind == Kind::si || kind == Kind::engineering ||
           kind == Kind::iec;
  }
};

Result<Format> parse_format(std::string_view text);
const std::vector<std::string>& format_names();

// A number in a column. `integral` numbers print no fraction in `general`. `general` prints every
// digit in a column that also holds text, like a data frame.
std::string apply(const Format& format, double value, bool integral, const std::string& unit,
                  bool beside_text = false);

// Whether tables align it as a number: "12", "-0.5", "1e-05", "128,625,408".
bool looks_like_number(std::string_view text);

std::string repr(double value);

}  // namespace assay::report
