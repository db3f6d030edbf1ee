#include "report/spec/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::report {
namespace {

struct Case {
  const char* format;
  double value;
  const char* unit;
  const char* expected;
};

void PrintTo(const Case& param, std::ostream* out) {
  *out << param.format << " of " << param.value << " " << param.unit;
}

class Formats : public testing::TestWithParam<Case> {};

TEST_P(Formats, WriteTheNumber) {
  const Case& param = GetParam();
  const auto format = parse_format(param.format);
  ASSERT_TRUE(format) << format.error().text();
  EXPECT_EQ(apply(*format, param.value, false, param.unit), param.expected) << param.format;
}

// C and Python print the same for g, repr and {…}.
INSTANTIATE_TEST_SUITE_P(
    Numbers, Formats,
    testing::Values(Case{"g6", 0.063523456, "ms", "0.0635235"}, Case{"g6", 16.5, "GiB", "16.5"},
                    Case{"g6", 1023.86, "ms", "1023.86"}, Case{"g6", 1234567, "", "1.23457e+06"},
                    Case{"g6", 0.00001234, "", "1.234e-05"}, Case{"g6", -0.5, "", "-0.5"},
                    Case{"g(3)", 0.12345, "", "0.123"}, Case{"g6(3)", 0.0304, "", "0.03"},
                    Case{"g6(3)", 64.6368, "", "64.637"}, Case{"repr", 4, "", "4.0"},
                    Case{"repr", 0.1, "", "0.1"},
                    Case{"repr", 0.06979474425315857, "", "0.06979474425315857"},
                    Case{"repr", 0.000133514404296875, "", "0.000133514404296875"},
                    Case{"repr", 1e16, "", "1e+16"}, Case{"repr", 0.00001, "", "1e-05"},
                    Case{"plain", 4, "", "4"}, Case{"plain", 2.5, "", "2.5"},
                    Case{"thousands", 128625408, "count", "128,625,408"},
                    Case{"thousands", 999, "", "999"}, Case{"thousands", -1000, "", "-1,000"},
                    Case{"thousands", 219848638464.0, "", "219,848,638,464"}));

INSTANTIATE_TEST_SUITE_P(
    PowersOfTen, Formats,
    testing::Values(Case{"sci(2)", 0.0136, "s", R"($1.36 \cdot 10^{-2}s$)"},
                    Case{"sci(2)", 13.6, "ms", R"($1.36 \cdot 10^{-2}s$)"},
                    Case{"sci(2)", 0.009999, "s", R"($1.00 \cdot 10^{-2}s$)"},
                    Case{"sci(3, text)", 0.0002011, "s", R"($2.011 \cdot 10^{-4}\text{s}$)"},
                    Case{"sci(2, after)", 0.0369, "s", R"($3.69 \cdot 10^{-2}$ s)"},
                    Case{"sci(2, bare)", 0.0369, "s", R"($3.69 \cdot 10^{-2}$)"},
                    Case{"sci(2)", 1.29, "s", "1.29 s"}, Case{"sci(2)", 1.1, "s", "1.10 s"},
                    Case{"sci(2)", 0.99999, "s", "1.00 s"}, Case{"sci(2)", 216.45, "s", "216 s"},
                    Case{"sci(2)", 0, "s", "0.00 s"}));

INSTANTIATE_TEST_SUITE_P(
    Prefixes, Formats,
    testing::Values(Case{"si3", 0.323, "s", "323 ms"}, Case{"si3", 1.21, "s", "1.21 s"},
                    Case{"si3", 0.0361, "s", "36.1 ms"}, Case{"si3", 0.072, "s", "72.0 ms"},
                    Case{"si3", 0.9999, "s", "1.00 s"}, Case{"si3", 90.1, "ms", "90.1 ms"},
                    Case{"si3", 0.0000123, "s", "12.3 µs"}, Case{"si3", 4200, "s", "4200 s"},
                    Case{"si3", 3.1e12, "FLOP", "3.10 TFLOP"},
                    Case{"eng(3)", 0.168334, "s", "168.334 ms"},
                    Case{"eng(3)", 0.000834659, "s", "834.659 µs"},
                    Case{"iec", 732944138.24, "byte", "698.99 MiB"},
                    Case{"iec", 2.81, "GiB", "2.81 GiB"}, Case{"iec", 512, "byte", "512 B"},
                    Case{"iec", 1048575, "byte", "1.00 MiB"},
                    Case{"iec(0)", 20971520, "byte", "20 MiB"}));

INSTANTIATE_TEST_SUITE_P(
    Patterns, Formats,
    testing::Values(Case{"{:.3f}", 0.0306, "", "0.031"}, Case{"{:.1f}x", 6.04, "", "6.0x"},
                    Case{"{:.3g} x", 1, "", "1 x"}, Case{"{:.3g} x", 2.671, "", "2.67 x"},
                    Case{"{:8.2f}|", 1.5, "", "    1.50|"}, Case{"{:<8.2f}|", 1.5, "", "1.50    |"},
                    Case{"{:^8.2f}|", 1.5, "", "  1.50  |"}, Case{"{:*>8.2f}", 1.5, "", "****1.50"},
                    Case{"{:,.0f}", 1234567, "", "1,234,567"}, Case{"{:,.1E}", 1e15, "", "1.0E+15"},
                    Case{"{:,.0%}", 58, "", "5,800%"},
                    Case{"{:,}", 1e16, "", "10,000,000,000,000,000"},
                    Case{"{:+.1f}", 2, "", "+2.0"}, Case{"{:08.2f}", -1.5, "", "-0001.50"},
                    Case{"{:.1%}", 0.902, "", "90.2%"}, Case{"{:.2e}", 0.0136, "", "1.36e-02"},
                    Case{"{:.2f}", 10.625, "", "10.62"}, Case{"({:.0f} MB)", 10, "", "(10 MB)"},
                    Case{"{}", 2.5, "", "2.5"}));

TEST(Format, WholeNumbersStayWhole) {
  EXPECT_EQ(apply(*parse_format("g6"), 1073741824, true, ""), "1073741824");
}

TEST(Format, BesideTextEveryDigitIsWritten) {
  EXPECT_EQ(apply(*parse_format("g6"), 0.06979474425315857, false, "ms", true),
            "0.06979474425315857");
  EXPECT_EQ(apply(*parse_format("g6(3)"), 0.68, false, "ms", true), "0.680");
}

TEST(Format, WhatIsNotFiniteIsStillText) {
  EXPECT_EQ(apply(*parse_format("{:.3f}"), std::nan(""), false, ""), "nan");
  EXPECT_EQ(apply(*parse_format("sci(2)"), std::numeric_limits<double>::infinity(), false, "s"),
            "inf s");
}

class RefusedFormats : public testing::TestWithParam<const char*> {};

TEST_P(RefusedFormats, AreErrors) { EXPECT_FALSE(parse_format(GetParam())) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(All, RefusedFormats,
                         testing::Values("g7", "fixed", "sci(x)", "sci(2, above)", "repr(3)",
                                         "{:.f}", "{:q}", "{:.3f", "{:.3f}{:.2f}", "{name}", "",
                                         "sci(99)"));

TEST(Format, NumbersAreTold) {
  for (const char* text : {"12", "-0.5", "1e-05", "128,625,408", "+3."})
    EXPECT_TRUE(looks_like_number(text)) << text;
  for (const char* text : {"", "OOM", "1.5x", "-", "1 2", "e5", "."})
    EXPECT_FALSE(looks_like_number(text)) << text;
}

}  // namespace
}  // namespace assay::report
