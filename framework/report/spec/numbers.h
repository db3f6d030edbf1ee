#pragma once

#include <optional>
#include <string>

namespace assay::report {

// One rule of digits for tables and sentences. A figure has the decimals of its uncertainty, which
// has two significant digits: 104 ± 180, 0.730 ± 0.033. On its own it has four significant digits
// at most, and without a known uncertainty no zeros at their end. Whole numbers keep all of theirs.
// No number has an exponent between 0.0001 and 10^15, and thousands are separated from 10,000 on:
// 139,584.

// `uncertainty` 0 or nullopt: unknown. `most_digits`: of a figure that stands without its ±, four.
inline constexpr int digits_of_figure = 4;
std::string figure_text(double value, std::optional<double> uncertainty = std::nullopt,
                        int most_digits = digits_of_figure);

// Of the uncertainty behind "±".
std::string uncertainty_text(double uncertainty);

// Of a ratio in a sentence, by default with three digits: 1.35, 12.4, 1230.
std::string rounded_text(double value, int digits = 3);

// Of a size, a count, the value of an axis: whole numbers as they are, 1,048,576; others as %g.
std::string number_text(double value);

}  // namespace assay::report
