#include "store/records/units.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::store {
namespace {

TEST(Units, SayTheirBaseAndScale) {
  EXPECT_EQ(parse_in_unit("1", *unit_named("ms")), 1e-3);
  EXPECT_EQ(parse_in_unit("1", *unit_named("us")), 1e-6);
  EXPECT_EQ(parse_in_unit("1", *unit_named("\u00b5s")), 1e-6);
  EXPECT_EQ(parse_in_unit("1", *unit_named("\u03bcs")), 1e-6);
  EXPECT_EQ(parse_in_unit("3", *unit_named("kB")), 3000);
  EXPECT_EQ(parse_in_unit("3", *unit_named("KiB")), 3072);
  EXPECT_EQ(parse_in_unit("1.5", *unit_named("GiB")), 1610612736);
  EXPECT_EQ(parse_in_unit("50", *unit_named("%")), 0.5);
  EXPECT_EQ(unit_named("GB/s")->base, "byte/s");
  EXPECT_EQ(unit_named("x")->base, "");
  EXPECT_EQ(unit_named("")->base, "");
  EXPECT_FALSE(unit_named("parsec"));
  EXPECT_FALSE(unit_named("Ms"));
}

TEST(Units, MovingThePointIsExact) {
  // 0.268386 / 1000 rounds twice; these are the doubles a person would write.
  EXPECT_EQ(parse_in_unit("0.268386", *unit_named("ms")), 0.000268386);
  EXPECT_EQ(parse_in_unit("1.36e-2", *unit_named("ms")), 0.0000136);
  EXPECT_EQ(parse_in_unit("+.5E+1", *unit_named("ns")), 5e-9);
  EXPECT_EQ(parse_in_unit("-7.", *unit_named("GB")), -7e9);
}

// Every figure of up to 7 digits comes back as the same double.
TEST(Units, ThereAndBackIsTheSameNumber) {
  for (const char* name : {"ms", "us", "ns", "KiB", "MiB", "GiB", "kB", "MB", "GB", "s", "%"}) {
    const Unit unit = *unit_named(name);
    for (int digits = 1; digits < 9'999'999; digits += 40'009) {
      for (const int exponent : {-9, -3, 0, 4}) {
        const std::string text = fmt::format("{}e{}", digits, exponent);
        const double written = *parse_in_unit(text, Unit{});
        ASSERT_EQ(in_unit(*parse_in_unit(text, unit), unit), written) << text << ' ' << name;
      }
    }
  }
}

TEST(Units, ATableFigurePrintsAsItStood) {
  const Unit gib = *unit_named("GiB");
  EXPECT_EQ(fmt::format("{:.6g}", in_unit(*parse_in_unit("0.0672607", gib), gib)), "0.0672607");
  EXPECT_EQ(fmt::format("{:.6g}", *parse_in_unit("0.0672607", gib) / 1073741824.0), "0.0672607");
  EXPECT_EQ(fmt::format("{:.6g}", *parse_in_unit("0.268386", *unit_named("ms")) * 1e3), "0.268386");
}

TEST(Units, OnlyPlainDecimalNumbersAreRead) {
  for (const char* text : {"", " 1", "1 ", "1,5", "1.2.3", "e5", "1e", "1e+", "-", ".", "0x10",
                           "nan", "inf", "1e999", "1e99999999999", "12abc"}) {
    EXPECT_FALSE(parse_in_unit(text, Unit{})) << text;
  }
}

TEST(Units, NonFiniteFiguresPassThrough) {
  EXPECT_TRUE(std::isnan(in_unit(std::nan(""), *unit_named("ms"))));
  EXPECT_TRUE(std::isinf(in_unit(INFINITY, *unit_named("ms"))));
}

}  // namespace
}  // namespace assay::store
