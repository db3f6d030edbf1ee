#include "report/spec/units.h"

#include <gtest/gtest.h>

namespace assay::report {
namespace {

TEST(Units, Convert) {
  EXPECT_EQ(convert(0.268386e-3, "s", "ms"), 0.268386);
  EXPECT_EQ(convert(1073741824, "byte", "GiB"), 1);
  EXPECT_EQ(convert(1.5, "GB", "byte"), 1.5e9);
  EXPECT_EQ(convert(1e9, "byte", "MB"), 1000);
  EXPECT_EQ(convert(0.902, "", "%"), 90.2);
  EXPECT_EQ(convert(2147483648.0, "byte/s", "GiB/s"), 2);
  EXPECT_EQ(convert(7, "token", "token"), 7);
}

// Device clocks count milliseconds in 32-bit floats; storing seconds must not change them.
TEST(Units, MillisecondsOfADeviceClockComeBackAsTheyWere) {
  int different = 0;
  for (int i = 1; i < 20000; ++i) {
    const float measured = static_cast<float>(i) * 0.00731f;
    const double seconds = static_cast<double>(measured) / 1000;
    if (convert(seconds, "s", "ms") != static_cast<double>(measured)) ++different;
  }
  EXPECT_EQ(different, 0);
}

TEST(Units, ShortDecimalsComeBackAsTheyWere) {
  for (const double milliseconds : {0.1, 0.3, 12.3, 121.235, 1023.86, 0.0635338}) {
    const double seconds =
        *store::parse_in_unit(std::to_string(milliseconds), *store::unit_named("ms"));
    EXPECT_EQ(convert(seconds, "s", "ms"), std::stod(std::to_string(milliseconds)));
  }
}

TEST(Units, OnlyOneDimensionIsOneDimension) {
  EXPECT_TRUE(same_dimension("s", "us"));
  EXPECT_TRUE(same_dimension("byte", "GiB"));
  EXPECT_FALSE(same_dimension("s", "MiB"));
  EXPECT_FALSE(same_dimension("byte", "byte/s"));
  EXPECT_TRUE(same_dimension("token/step", "token/step"));
}

TEST(Units, SensibleOnesKeepFiguresReadable) {
  EXPECT_EQ(sensible_unit(0.0123, "s"), "ms");
  EXPECT_EQ(sensible_unit(12.3, "s"), "s");
  EXPECT_EQ(sensible_unit(4.2e-5, "s"), "us");
  EXPECT_EQ(sensible_unit(3e9, "byte"), "GiB");
  EXPECT_EQ(sensible_unit(100, "byte"), "byte");
  EXPECT_EQ(sensible_unit(0, "s"), "s");
  EXPECT_EQ(sensible_unit(5, "token"), "token");
}

TEST(Units, KnowWhatAMetricCanBeShownIn) {
  const auto names = units_for("s");
  EXPECT_NE(std::find(names.begin(), names.end(), "ms"), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "MiB"), names.end());
}

}  // namespace
}  // namespace assay::report
