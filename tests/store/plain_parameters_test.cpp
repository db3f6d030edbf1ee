#include "store/records/plain_parameters.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::store {
namespace {

TEST(StorePlainParameters, ValuesKeepTheirTypeAndTheirText) {
  const auto read = plain_parameters(
      R"({"world_size": 8, "causal": true, "scale": 0.125, "whole": 4.0, "none": null,)"
      R"( "least": -9223372036854775808, "most": 9223372036854775807,)"
      R"( "measure.calls_per_sample": 1, "name": "a \"quoted\" \u00b5 of more than 15 bytes"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (Parameters{{"world_size", std::int64_t{8}},
                               {"causal", true},
                               {"scale", 0.125},
                               {"whole", 4.0},
                               {"none", Value{}},
                               {"least", std::numeric_limits<std::int64_t>::min()},
                               {"most", std::numeric_limits<std::int64_t>::max()},
                               {"measure.calls_per_sample", std::int64_t{1}},
                               {"name", "a \"quoted\" µ of more than 15 bytes"}}));
  EXPECT_EQ(plain_parameters("{}"), Parameters());
}

TEST(StorePlainParameters, TheLastValueOfANameCounts) {
  EXPECT_EQ(plain_parameters(R"({"b": 1, "a": 2, "b": 3})"),
            (Parameters{{"a", std::int64_t{2}}, {"b", std::int64_t{3}}}));
}

TEST(StorePlainParameters, WhatIsNoObjectOfPlainValuesIsLeftToOthers) {
  for (const char* text : {"", "{", "1", "null", "[]", R"([{"a": 1}])", R"({"a": [1]})",
                           R"({"a": {"real": "inf"}})", R"({"a": 9223372036854775808})",
                           R"({"a": 1} {"b": 2})", R"({"a": 1)", "{\"a\": \"\xff\"}"}) {
    EXPECT_EQ(plain_parameters(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay::store
