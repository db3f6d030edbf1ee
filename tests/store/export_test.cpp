#include "store/exchange/export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "sample_run.h"
#include "store/database/database.h"
#include "store/exchange/import.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

using nlohmann::json;
using testing::sample_case;
using testing::sample_run;
using testing::text_of;

std::string json_lines(const Run& run, const ExportOptions& options = {}) {
  std::ostringstream out;
  EXPECT_TRUE(export_json_lines(run, out, options));
  return out.str();
}

std::string csv(const Run& run) {
  std::ostringstream out;
  EXPECT_TRUE(export_csv(run, out));
  return out.str();
}

std::vector<json> parsed_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

Run imported(const std::string& text, const std::string& name) {
  const Result<Run> run = import_text(text, name);
  EXPECT_TRUE(run) << run.error().text();
  return run.value_or(Run{});
}

class StoreExport : public testing::TemporaryFolder {};

TEST_F(StoreExport, JsonLinesComeBackFromTheDatabaseAndAFileAsTheSameRun) {
  Database database = Database::open(file("assay.db"), Access::read_write).value();
  const std::string name = database.add_run(sample_run()).value();
  const Run loaded = database.load_run(name).value();
  write("run.jsonl", json_lines(loaded));
  const Result<Run> back = import_file(file("run.jsonl"));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(text_of(*back), text_of(sample_run()));
  EXPECT_EQ(back->cases[0].parameters, sample_run().cases[0].parameters);
  const std::string again = database.add_run(*back).value();
  EXPECT_EQ(again, "model_timing-2");
}

TEST_F(StoreExport, ALineHasTheDocumentedFieldsInOrder) {
  const std::string text = json_lines(sample_run());
  const nlohmann::ordered_json line =
      nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  std::vector<std::string> names;
  for (const auto& [name, value] : line.items()) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"run", "experiment", "case", "pass", "metric", "part", "rank",
                                      "unit", "outcome", "reason", "samples", "statistics", "flags",
                                      "machine", "when", "provenance"}));
  EXPECT_EQ(line["run"], "model_timing-1");
  EXPECT_EQ(line["case"]["seq_len"], 128);
  EXPECT_EQ(line["samples"], json({1e-3, 1.1e-3, 0.9e-3}));
  EXPECT_EQ(line["statistics"]["n"], 3);
  EXPECT_DOUBLE_EQ(line["statistics"]["mean"].get<double>(), 1e-3);
  EXPECT_NEAR(line["statistics"]["std"].get<double>(), 1e-4, 1e-12);
  EXPECT_EQ(line["when"], "2026-01-31T12:34:56Z");
}

TEST_F(StoreExport, ALineSaysWhatItsSamplesDoOverTime) {
  Run run = sample_run();
  run.cases = {sample_case(0)};
  run.cases[0].series = {testing::time_series("forward", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
                         testing::time_series("backward", {1, 2})};
  const std::vector<json> lines = parsed_lines(json_lines(run));
  EXPECT_EQ(lines[0]["statistics"]["iqr"], 4.5);
  // Deviations of ±0.5 … ±4.5: squares 2·41.25 = 82.5, of 10. Places 0.45 and 8.55 of 1 … 10.
  EXPECT_NEAR(lines[0]["statistics"]["std_population"].get<double>(), std::sqrt(8.25), 1e-12);
  EXPECT_NEAR(lines[0]["statistics"]["p5"].get<double>(), 1.45, 1e-12);
  EXPECT_NEAR(lines[0]["statistics"]["p95"].get<double>(), 9.55, 1e-12);
  EXPECT_EQ(lines[0]["statistics"]["drift"], 3.5);
  // Deviations −4.5 to 4.5: products of neighbours add up to 57.75, squares to 82.5.
  EXPECT_NEAR(lines[0]["statistics"]["autocorrelation"].get<double>(), 0.7, 1e-12);
  EXPECT_EQ(lines[0]["flags"], json({"drifting"}));
  EXPECT_EQ(lines[1]["flags"], json::array());
  EXPECT_FALSE(lines[1]["statistics"].contains("drift"));
  EXPECT_EQ(text_of(imported(json_lines(run), "x.jsonl")), text_of(run));
}

TEST_F(StoreExport, IntervalsHoldMeanAndMedianAndAreTheSameAgain) {
  Run run = sample_run();
  run.cases = {sample_case(0)};
  run.cases[0].series = {testing::time_series("forward", {1, 3, 1, 4, 1, 700, 1, 5, 2, 6}),
                         testing::time_series("backward", {7})};
  const std::vector<json> lines = parsed_lines(json_lines(run));
  const json& figures = lines[0]["statistics"];
  const auto figure = [&](const char* name) { return figures.at(name).get<double>(); };
  EXPECT_LT(figure("ci_low"), 72.4);  // the mean
  EXPECT_GT(figure("ci_high"), 72.4);
  EXPECT_LT(figure("median_ci_low"), 2.5);
  EXPECT_GT(figure("median_ci_high"), 2.5);
  EXPECT_LT(figure("median_ci_high"), figure("ci_high"));  // the largest moves it
  EXPECT_EQ(parsed_lines(json_lines(run))[0], lines[0]);
  // One sample has no spread.
  EXPECT_FALSE(lines[1]["statistics"].contains("ci_low"));
  EXPECT_EQ(text_of(imported(json_lines(run), "x.jsonl")), text_of(run));
}

TEST_F(StoreExport, OnlyTheFirstLineCarriesTheWholeContextUnlessAsked) {
  const std::vector<json> lines = parsed_lines(json_lines(sample_run()));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0]["machine"], sample_run().info.first.machine);
  EXPECT_EQ(lines[1]["machine"], (json{{"host", "lab1"}, {"gpu", "H200"}}));
  EXPECT_EQ(lines[1]["provenance"]["source"]["commit"], "0123abc");
  EXPECT_EQ(lines[1]["provenance"]["versions"]["libtorch"], "2.11.0");
  EXPECT_FALSE(lines[1]["provenance"].contains("plugins"));
  EXPECT_FALSE(lines[1]["provenance"].contains("run"));
  EXPECT_EQ(lines[2]["machine"], (json{{"host", "lab2"}, {"gpu", "H200"}}));
  EXPECT_EQ(lines[2]["provenance"]["source"]["clean"], false);

  const std::string whole = json_lines(sample_run(), {.whole_context_in_every_line = true});
  for (const json& line : parsed_lines(whole)) {
    // The second case was measured after a resume, on another machine.
    json machine = sample_run().info.first.machine;
    if (line["provenance"]["ordinal"] == 1) machine["host"] = "lab2";
    EXPECT_EQ(line["machine"], machine);
    EXPECT_EQ(line["provenance"]["plugins"], sample_run().info.first.provenance["plugins"]);
  }
  EXPECT_EQ(text_of(imported(whole, "x.jsonl")), text_of(sample_run()));
}

TEST_F(StoreExport, ACaseWithoutSeriesIsOneLine) {
  const std::vector<json> lines = parsed_lines(json_lines(sample_run()));
  EXPECT_EQ(lines[2]["metric"], "");
  EXPECT_EQ(lines[2]["pass"], "");
  EXPECT_EQ(lines[2]["outcome"], "oom");
  EXPECT_EQ(lines[2]["reason"], sample_run().cases[1].reason);
  EXPECT_EQ(lines[2]["samples"], json::array());
}

TEST_F(StoreExport, WhatIsNotFiniteIsNullAndSaysWhy) {
  Run run = sample_run();
  run.cases = {sample_case(0)};
  run.cases[0].series = {
      testing::time_series("forward", {1, std::nan(""), 2}),
      testing::time_series("backward", {std::numeric_limits<double>::infinity()})};
  run.cases[0].series[1].outcome = Outcome::wrong;
  run.cases[0].series[1].reason = "overflow";
  const std::vector<json> lines = parsed_lines(json_lines(run));
  EXPECT_EQ(lines[0]["samples"], json({1.0, nullptr, 2.0}));
  EXPECT_EQ(lines[0]["statistics"]["mean"], nullptr);
  EXPECT_EQ(lines[0]["outcome"], "error");
  EXPECT_EQ(lines[0]["reason"], "sample 2 of 3 is nan");
  EXPECT_EQ(lines[1]["samples"], json({nullptr}));
  EXPECT_EQ(lines[1]["outcome"], "wrong");
  EXPECT_EQ(lines[1]["reason"], "overflow");
  const Run back = imported(json_lines(run), "x.jsonl");
  EXPECT_TRUE(std::isnan(back.cases[0].series[0].samples[1]));
}

TEST_F(StoreExport, ARunWithoutCasesHasNothingToExport) {
  std::ostringstream out;
  EXPECT_FALSE(export_json_lines(Run{}, out));
}

TEST_F(StoreExport, AStreamThatFailsIsAnError) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  const auto lines = export_json_lines(sample_run(), out);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().exit_code, ExitCode::results_unreadable);
  EXPECT_FALSE(export_csv(sample_run(), out));
}

TEST_F(StoreExport, CsvIsWhatTheDocumentSays) {
  Run run;
  CaseResult result;
  result.parameters = {{"d_head", std::int64_t{64}}, {"dropout", 1.0}};
  result.series = {testing::time_series("forward", {0.5, 0.25})};
  Series memory;
  memory.pass = "forward";
  memory.metric = "peak_memory";
  memory.unit = "byte";
  memory.statistics = {{"max", 1024}};
  result.series.push_back(memory);
  Series ratio;
  ratio.pass = "backward";
  ratio.metric = "error";
  ratio.rank = 1;
  ratio.outcome = Outcome::wrong;
  ratio.reason = "off, by \"much\"";
  result.series.push_back(ratio);
  CaseResult skipped;
  skipped.parameters = {{"d_head", std::int64_t{128}}};
  skipped.outcome = Outcome::skipped;
  run.cases = {result, skipped};
  EXPECT_EQ(
      csv(run),
      "d_head,dropout,pass,part,rank,time.n [count],time.mean [s],time.std [s],time.median [s],"
      "time.min [s],time.max [s],time.std_population [s],time.p5 [s],time.p95 [s],"
      "time.iqr [s],time.ci_low [s],time.ci_high [s],time.median_ci_low [s],"
      "time.median_ci_high [s],time.samples [s],peak_memory.max [byte],outcome,reason\n"
      "64,1.0,forward,,0,2,0.375,0.1767766952966369,0.375,0.25,0.5,0.125,0.2625,0.4875,"
      "0.125,0.25,0.5,0.25,0.5,[0.5 0.25],1024,ok,\n"
      "64,1.0,backward,,1,,,,,,,,,,,,,,,,,wrong,\"off, by \"\"much\"\"\"\n"
      "128,,,,0,,,,,,,,,,,,,,,,,skipped,\n");
}

TEST_F(StoreExport, CsvKeepsFiguresAndOutcomes) {
  const Run back = imported(csv(sample_run()), "model_timing.csv");
  const Run run = sample_run();
  ASSERT_EQ(back.cases.size(), run.cases.size());
  EXPECT_EQ(back.info.experiment, "model_timing");
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    EXPECT_EQ(back.cases[i].parameters, run.cases[i].parameters);
    EXPECT_EQ(back.cases[i].key, run.cases[i].key);
    EXPECT_EQ(back.cases[i].outcome, run.cases[i].outcome);
    EXPECT_EQ(back.cases[i].reason, run.cases[i].reason);
  }
  EXPECT_EQ(back.cases[0].series[0].samples, run.cases[0].series[0].samples);
  EXPECT_EQ(back.cases[0].series[1].rank, 1);
  EXPECT_TRUE(back.cases[1].series.empty());
  EXPECT_EQ(csv(back), csv(run));
}

}  // namespace
}  // namespace assay::store
