#include <gtest/gtest.h>

#include "base/text.h"

namespace assay {
namespace {

TEST(ParseSize, KnowsDecimalAndBinaryUnits) {
  EXPECT_EQ(*parse_size("100 MiB"), 104857600);
  EXPECT_EQ(*parse_size("1 GB"), 1000000000);
  EXPECT_EQ(*parse_size("512KiB"), 524288);
  EXPECT_EQ(*parse_size(" 7 B "), 7);
  EXPECT_EQ(*parse_size("1.5 kB"), 1500);
  EXPECT_EQ(*parse_size("2 TiB"), 2199023255552);
}

TEST(ParseSize, RefusesWhatIsNotASize) {
  struct Case {
    const char* text;
    const char* phrase;
  };
  const Case cases[] = {{"100", "without a unit"},   {"100 MIB", "'MIB' is not a unit"},
                        {"MiB", "is not a size"},    {"-1 MiB", "negative"},
                        {"", "is not a size"},       {"0.3 B", "whole number of bytes"},
                        {"1e30 GB", "larger than"},  {"1 s", "'s' is not a unit"},
                        {"nan MB", "is not a size"}, {"inf MB", "is not a size"}};
  for (const Case& refused : cases) {
    const auto size = parse_size(refused.text);
    ASSERT_FALSE(size) << refused.text;
    EXPECT_NE(size.error().text().find(refused.phrase), std::string::npos) << size.error().text();
  }
}

TEST(ParseDuration, GivesSeconds) {
  EXPECT_DOUBLE_EQ(*parse_duration("30 s"), 30);
  EXPECT_DOUBLE_EQ(*parse_duration("5 min"), 300);
  EXPECT_DOUBLE_EQ(*parse_duration("200 ms"), 0.2);
  EXPECT_DOUBLE_EQ(*parse_duration("1.5h"), 5400);
  EXPECT_FALSE(parse_duration("30"));
  EXPECT_FALSE(parse_duration("30 MB"));
  EXPECT_FALSE(parse_duration("-1 s"));
}

TEST(HumanSize, UsesTheLargestUnitThatFits) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(1023), "1023 B");
  EXPECT_EQ(human_size(3221225472.0), "3.00 GiB");
  EXPECT_EQ(human_size(1536), "1.50 KiB");
}

TEST(HumanDuration, RoundsToWhatMatters) {
  EXPECT_EQ(human_duration(0.25), "250 ms");
  EXPECT_EQ(human_duration(2.34), "2.3 s");
  EXPECT_EQ(human_duration(93.4), "1 min 33 s");
  EXPECT_EQ(human_duration(7260), "2 h 1 min");
}

}  // namespace
}  // namespace assay
