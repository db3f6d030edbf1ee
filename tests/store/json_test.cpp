#include "store/records/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sample_run.h"

namespace assay::store {
namespace {

using nlohmann::json;
using testing::sample_case;
using testing::sample_run;

constexpr double infinity = std::numeric_limits<double>::infinity();

Value through_text(const Value& value) {
  return value_from_json(json::parse(dump(to_json(value)))).value();
}

TEST(StoreJson, ValuesKeepTheirType) {
  for (const Value& value :
       {Value{}, Value{true}, Value{std::int64_t{4}}, Value{4.0}, Value{0.1},
        Value{std::string("4")}, Value{std::string("true")}, Value{std::string("inf")},
        Value{-infinity}, Value{std::numeric_limits<std::int64_t>::min()},
        Value{std::numeric_limits<std::int64_t>::max()}}) {
    EXPECT_EQ(through_text(value), value) << to_text(value);
  }
  EXPECT_TRUE(std::isnan(std::get<double>(through_text(std::nan("")))));
}

TEST(StoreJson, ValuesThatAreNoneAreRefused) {
  for (const char* text :
       {"[]", "{}", "18446744073709551615", R"({"real": "much"})", R"({"real": 1, "x": 2})"}) {
    EXPECT_FALSE(value_from_json(json::parse(text))) << text;
  }
}

TEST(StoreJson, ASeriesComesBackWithEverySample) {
  Series series = testing::time_series("forward", {1e-3, -infinity, infinity, 0.1, 5e-324});
  series.part = "layer.0";
  series.rank = 3;
  series.outcome = Outcome::wrong;
  series.reason = "error 0.5";
  series.statistics = {{"p95", infinity}};
  const Series back = series_from_json(json::parse(dump(to_json(series)))).value();
  EXPECT_EQ(to_json(back), to_json(series));
  EXPECT_EQ(back.samples, series.samples);
}

TEST(StoreJson, NaNSamplesSurviveAndNullIsOne) {
  const json object{{"pass", "forward"}, {"metric", "error"}, {"samples", {1.0, "nan", nullptr}}};
  const Series series = series_from_json(object).value();
  ASSERT_EQ(series.samples.size(), 3u);
  EXPECT_TRUE(std::isnan(series.samples[1]));
  EXPECT_TRUE(std::isnan(series.samples[2]));
  EXPECT_EQ(to_json(series)["samples"][1], "nan");
}

TEST(StoreJson, WhatIsLeftOutHasItsDefault) {
  const Series series =
      series_from_json({{"pass", "forward"}, {"metric", "time"}, {"new", 1}}).value();
  EXPECT_EQ(series.outcome, Outcome::ok);
  EXPECT_EQ(series.rank, 0);
  EXPECT_TRUE(series.samples.empty());
}

TEST(StoreJson, AllThatIsWrongWithASeriesIsSaidAtOnce) {
  const json object{{"pass", 1},
                    {"rank", 1.5},
                    {"outcome", "fine"},
                    {"samples", {1, "x"}},
                    {"statistics", {{"mean", true}}}};
  const auto series = series_from_json(object);
  ASSERT_FALSE(series);
  const std::string text = series.error().text();
  EXPECT_EQ(series.error().exit_code, ExitCode::bad_input);
  EXPECT_NE(text.find("no field 'metric'"), std::string::npos) << text;
  EXPECT_NE(text.find("'pass' should be a text"), std::string::npos) << text;
  EXPECT_NE(text.find("'rank' should be a whole number"), std::string::npos) << text;
  EXPECT_NE(text.find("'fine' is not an outcome"), std::string::npos) << text;
  EXPECT_NE(text.find("'samples[1]' should be a number"), std::string::npos) << text;
  EXPECT_NE(text.find("'statistics.mean' should be a number"), std::string::npos) << text;
  EXPECT_FALSE(series_from_json(json::array()));
}

TEST(StoreJson, CasesAndRunsComeBackWhole) {
  const CaseResult result = sample_case(2);
  const CaseResult back = case_result_from_json(json::parse(dump(to_json(result)))).value();
  EXPECT_EQ(testing::text_of(back), testing::text_of(result));
  EXPECT_EQ(back.parameters, result.parameters);
  const RunInfo info = sample_run().info;
  EXPECT_EQ(to_json(run_info_from_json(json::parse(dump(to_json(info)))).value()), to_json(info));
}

TEST(StoreJson, WrongCasesAndRunsAreRefused) {
  EXPECT_FALSE(case_result_from_json({{"parameters", {{"a", json::array()}}}}));
  EXPECT_FALSE(case_result_from_json({{"parameters", json::object()}, {"series", 1}}));
  EXPECT_FALSE(case_result_from_json({{"parameters", json::object()}, {"wall_s", "long"}}));
  EXPECT_FALSE(case_result_from_json(json::object()));
  EXPECT_FALSE(run_info_from_json({{"name", "a"}}));
  EXPECT_FALSE(run_info_from_json({{"name", "a"}, {"experiment", "b"}, {"overrides", {1}}}));
}

TEST(StoreJson, BrokenTextDoesNotStopADump) {
  EXPECT_EQ(dump({{"reason", "bad \xff byte"}}), "{\"reason\":\"bad \xEF\xBF\xBD byte\"}");
}

TEST(StoreJson, ParsingSaysWhereItFailed) {
  const auto parsed = parse_json("{\"a\": 1,\n  oops}");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().diagnostics[0].where.line, 2);
  EXPECT_EQ(parsed.error().diagnostics[0].where.column, 3);
  EXPECT_FALSE(parse_json("{\"a\": "));
  EXPECT_FALSE(parse_json("1e999"));
  EXPECT_EQ(parse_json("[1.0]").value(), json::parse("[1.0]"));
}

TEST(StoreJson, DeepNestingIsRefused) {
  EXPECT_TRUE(parse_json(std::string(60, '[') + std::string(60, ']')));
  EXPECT_FALSE(parse_json(std::string(100'000, '[') + std::string(100'000, ']')));
  EXPECT_FALSE(parse_json(std::string(10'000'000, '[')));
  EXPECT_NE(parse_json("{\"a\":" + std::string(70, '[')).error().text().find("nested deeper"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::store
