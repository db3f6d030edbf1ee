#include "wire/messages.h"

#include <gtest/gtest.h>

namespace assay::wire {
namespace {

TEST(MessagesTest, ACaseRequestComesBackAsItWas) {
  CaseRequest request;
  request.ordinal = 7;
  request.parameters = {{"seq_len", std::int64_t{128}},
                        {"lr", 0.5},
                        {"causal", true},
                        {"model", std::string("small")}};
  request.passes = {"forward", "backward"};
  request.pinned = {"attention"};
  request.presets["model"] = {{"d_model", std::int64_t{768}}};
  request.plugin_files = {"/a/b.so"};
  request.takes_turns = true;
  const auto back = case_request_from_json(nlohmann::json::parse(to_json(request).dump()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->ordinal, 7);
  EXPECT_EQ(back->parameters, request.parameters);
  EXPECT_EQ(back->passes, request.passes);
  EXPECT_EQ(back->pinned, request.pinned);
  EXPECT_EQ(back->presets, request.presets);
  EXPECT_EQ(back->plugin_files, request.plugin_files);
  EXPECT_TRUE(back->takes_turns);
}

TEST(MessagesTest, MeasuredSeriesKeepTheirSamplesExactly) {
  store::Series series;
  series.pass = "forward";
  series.metric = "time";
  series.unit = "s";
  series.samples = {0.1, 1e-9, 3.0000000000000004};
  const auto back = measured_from_json(nlohmann::json::parse(to_json(Measured{3, series}).dump()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->ordinal, 3);
  EXPECT_EQ(back->series.samples, series.samples);
}

TEST(MessagesTest, ATurnIsWantedAndGivenAsItWasSaid) {
  const nlohmann::json wanted = to_json(TurnWanted{4, "backward", 10, 50});
  EXPECT_EQ(message_type(wanted), "turn_wanted");
  const auto asked = turn_wanted_from_json(nlohmann::json::parse(wanted.dump()));
  ASSERT_TRUE(asked) << asked.error().text();
  EXPECT_EQ(asked->ordinal, 4);
  EXPECT_EQ(asked->pass, "backward");
  EXPECT_EQ(asked->taken, 10);
  EXPECT_EQ(asked->planned, 50);
  const nlohmann::json given = to_json(Turn{4, 5, true});
  EXPECT_EQ(message_type(given), "turn");
  const auto turn = turn_from_json(nlohmann::json::parse(given.dump()));
  ASSERT_TRUE(turn) << turn.error().text();
  EXPECT_EQ(turn->ordinal, 4);
  EXPECT_EQ(turn->samples, 5);
  EXPECT_TRUE(turn->after_others);
}

TEST(MessagesTest, ATurnThatCannotBeTakenIsAnError) {
  nlohmann::json turn = to_json(Turn{4, 5, true});
  for (const char* samples : {"0", "-3", "1.5", "null", "1e30"}) {
    turn["samples"] = nlohmann::json::parse(samples);
    EXPECT_FALSE(turn_from_json(turn)) << samples;
  }
  EXPECT_FALSE(turn_from_json({{"ordinal", 4}, {"samples", 1}, {"after_others", 1}}));
  EXPECT_FALSE(turn_wanted_from_json({{"ordinal", 4}, {"pass", 1}, {"taken", 0}, {"planned", 1}}));
  EXPECT_FALSE(turn_wanted_from_json({{"ordinal", 4}, {"pass", "forward"}, {"taken", 0}}));
}

TEST(MessagesTest, WhatIsMissingOrOfAnotherTypeIsAnErrorNotAnException) {
  EXPECT_FALSE(hello_from_json({{"type", "hello"}}));
  EXPECT_FALSE(case_request_from_json({{"type", "case"}, {"ordinal", "seven"}}));
  EXPECT_FALSE(measured_from_json({{"ordinal", 1}, {"series", 5}}));
  EXPECT_FALSE(case_done_from_json(
      {{"ordinal", 1}, {"outcome", "splendid"}, {"reason", ""}, {"context", nullptr}}));
  EXPECT_EQ(message_type(nlohmann::json::array()), "");
  EXPECT_EQ(message_type({{"type", 3}}), "");
}

TEST(MessagesTest, ANumberThatDoesNotFitIsAnErrorNotAnotherNumber) {
  const nlohmann::json good = to_json(Hello{"token", 3, 42, {}});
  ASSERT_TRUE(hello_from_json(good));
  for (const char* number : {"1e300", "4294967296", "-1e10", "2.5", "true", "\"3\"", "null"}) {
    nlohmann::json hello = good;
    hello["rank"] = nlohmann::json::parse(number);
    const auto read = hello_from_json(hello);
    ASSERT_FALSE(read) << number;
    EXPECT_NE(read.error().text().find("'rank'"), std::string::npos) << read.error().text();
  }
  EXPECT_FALSE(progress_from_json({{"ordinal", std::uint64_t{1} << 63}, {"doing", "x"}}));
  EXPECT_FALSE(case_done_from_json(
      {{"ordinal", 1e19}, {"outcome", "ok"}, {"reason", ""}, {"context", nullptr}}));
}

}  // namespace
}  // namespace assay::wire
