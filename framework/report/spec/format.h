#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::report {

// What stands after the colon in "{name:<12.3f}":
// [[fill]align][sign][#][0][width][,][.precision][type], as Python writes it.
struct FieldSpec {
  std::string fill = " ";
  char align = 0;  // < > ^, or 0: numbers right, text left
  int width = 0;
  // Of numbers: the rest as fmt writes it, thousands separators, hundredths.
  std::string number = "{}";
  bool group = false;
  bool percent = false;
  // Says how a number's digits look, not only how wide the field is.
  bool shapes_number = false;
};

Result<FieldSpec> parse_field_spec(std::string_view text);
std::string format_number(double value, const FieldSpec& spec);
std::string pad(std::string_view text, const FieldSpec& spec, char default_align = '<');

// How the numbers of a column are written.
//   g6          six significant digits, as C's %g; `g(n)` for others
//   g6(n)       the same of the value rounded to n decimals; n decimals in a column that holds text
//   repr        the shortest text that gives the same number, with ".0" for whole ones
//   sci(n)      $1.36 \cdot 10^{-2}s$, from 1 up plain: 1.29 s. A second word says where the unit
//               goes: sci(n, text) \text{s}, sci(n, after) $…$ s, sci(n, bare) no unit
//   si3, si(n)  n significant digits with a decimal prefix: 323 ms, 1.21 s
//   eng(n)      the same with n decimals: 168.334 ms
//   iec, iec(n) two (n) decimals with a binary prefix: 698.99 MiB
//   thousands   128,625,408
//   plain       repr without ".0"
//   {:.3f}      Python's format specification, with text around it: "{:.1f}x"
struct Format {
  enum class Kind {
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
  enum class UnitPlace { inside, text, after, bare };
  Kind kind = Kind::general;
  int digits = 6;
  UnitPlace unit_place = UnitPlace::inside;
  FieldSpec spec;             // pattern
  std::string before, after;  // pattern: the text around it

  // Writes the unit beside the number, so that the column needs no unit of its own.
  bool carries_unit() const {
    return kind == Kind::scientific || kind == Kind::si || kind == Kind::engineering ||
           kind == Kind::iec;
  }
};

Result<Format> parse_format(std::string_view text);
const std::vector<std::string>& format_names();

// A number as it stands in a column. `integral` numbers came as whole numbers and print no
// fraction in `general`. In a column that also holds text, `general` prints every digit, as a data
// frame printed as text does.
std::string apply(const Format& format, double value, bool integral, const std::string& unit,
                  bool beside_text = false);

// "12", "-0.5", "1e-05", "128,625,408": what a table aligns as a number.
bool looks_like_number(std::string_view text);

// Shortest text that reads back as the same number; whole numbers keep ".0".
std::string repr(double value);

}  // namespace assay::report
