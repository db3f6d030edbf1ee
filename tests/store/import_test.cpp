#include "store/exchange/import.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <ostream>

#include "sample_run.h"
#include "store/exchange/csv_columns.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

class StoreImport : public testing::TemporaryFolder {
 protected:
  static Run csv(const std::string& text, const ImportOptions& options = {}) {
    const Result<Run> run = import_text(text, "table.csv", options);
    EXPECT_TRUE(run) << run.error().text();
    return run.value_or(Run{});
  }
};

TEST_F(StoreImport, ATableOfStatisticsIsReadInBaseUnits) {
  const Run run = csv(
      "d_model,seq_len,causal,precision,pass,time.mean [ms],time.std [us],peak_memory.max [MiB],"
      "parameters.value [count],speedup.mean []\n"
      "16,256,true,fp32,forward,0.268386,2.5,25.25,128625408,1.5\n");
  ASSERT_EQ(run.cases.size(), 1u);
  const CaseResult& result = run.cases[0];
  EXPECT_EQ(result.parameters, (Parameters{{"d_model", std::int64_t{16}},
                                           {"seq_len", std::int64_t{256}},
                                           {"causal", true},
                                           {"precision", std::string("fp32")}}));
  EXPECT_EQ(result.key_text, "causal=true, d_model=16, precision=fp32, seq_len=256");
  EXPECT_EQ(result.key.size(), 64u);
  ASSERT_EQ(result.series.size(), 4u);
  EXPECT_EQ(result.series[0].metric, "time");
  EXPECT_EQ(result.series[0].unit, "s");
  EXPECT_EQ(result.series[0].pass, "forward");
  EXPECT_EQ(result.series[0].outcome, Outcome::ok);
  EXPECT_TRUE(result.series[0].samples.empty());
  EXPECT_EQ(result.series[0].statistics,
            (std::map<std::string, double>{{"mean", 0.000268386}, {"std", 2.5e-6}}));
  EXPECT_EQ(result.series[1].statistics.at("max"), 25.25 * 1048576);
  EXPECT_EQ(result.series[1].unit, "byte");
  EXPECT_EQ(result.series[2].statistics.at("value"), 128625408);
  EXPECT_EQ(result.series[2].samples, std::vector<double>{128625408});
  EXPECT_EQ(result.series[3].unit, "");
}

TEST_F(StoreImport, ARatioIsWrittenInAnyOfFourWays) {
  for (const char* unit : {"", " []", " [x]", " [1]"}) {
    const Run run = csv(fmt::format("speedup.mean{}\n1.5\n", unit));
    EXPECT_EQ(run.cases[0].series[0].unit, "");
    EXPECT_EQ(run.cases[0].series[0].statistics.at("mean"), 1.5);
  }
}

TEST_F(StoreImport, FiguresOfATableComeBackDigitForDigit) {
  // Memory and times of a table with six significant digits.
  const char* gib[] = {"0.0672607", "0.128418", "1.07617", "4.08984", "16.1172", "0.0681152"};
  const char* ms[] = {"0.268386", "0.0635338", "33.3292", "2.02", "125.68", "1319.15"};
  for (int i = 0; i < 6; ++i) {
    const Run run = csv(fmt::format("mem.max [GiB],time.mean [ms]\n{},{}\n", gib[i], ms[i]));
    const auto& series = run.cases[0].series;
    EXPECT_EQ(fmt::format("{:.6g}", series[0].statistics.at("max") / 1073741824.0), gib[i]);
    EXPECT_EQ(fmt::format("{:.6g}", series[1].statistics.at("mean") * 1000), ms[i]);
  }
}

TEST_F(StoreImport, SamplesAreListsAndReplaceTheirStatistics) {
  const Run run =
      csv("n,time.mean [s],time.n,time.samples [ms]\n"
          "1,9,3,[1 2.5 3]\n"
          "2,9,2,\"[1, 2]\"\n"
          "3,9,2,\"1,2\"\n");
  EXPECT_EQ(run.cases[0].series[0].samples, (std::vector<double>{0.001, 0.0025, 0.003}));
  EXPECT_TRUE(run.cases[0].series[0].statistics.empty());
  EXPECT_EQ(run.cases[1].series[0].samples, (std::vector<double>{0.001, 0.002}));
  EXPECT_EQ(run.cases[2].series[0].samples, (std::vector<double>{0.001, 0.002}));
}

TEST_F(StoreImport, ACountOfSamplesHasNoSayInTheUnit) {
  const Series series = csv("time.n [count],time.mean [ms]\n5,1\n").cases[0].series[0];
  EXPECT_EQ(series.unit, "s");
  EXPECT_EQ(series.statistics, (std::map<std::string, double>{{"n", 5}, {"mean", 0.001}}));
}

TEST_F(StoreImport, RowsOfOneCaseAreJoined) {
  const Run run =
      csv("seq_len,pass,part,rank,time.mean [ms]\n"
          "128,forward,,0,1\n"
          "256,forward,,0,2\n"
          "128,forward,,1,3\n"
          "128,backward,softmax,0,4\n");
  ASSERT_EQ(run.cases.size(), 2u);
  EXPECT_EQ(run.cases[0].ordinal, 0);
  EXPECT_EQ(run.cases[1].ordinal, 1);
  ASSERT_EQ(run.cases[0].series.size(), 3u);
  EXPECT_EQ(run.cases[0].series[1].rank, 1);
  EXPECT_EQ(run.cases[0].series[2].part, "softmax");
  EXPECT_EQ(run.cases[0].series[2].pass, "backward");
}

TEST_F(StoreImport, AnEmptyCellIsNoFigureAndAnOutcomeSaysWhy) {
  const Run run =
      csv("seq_len,pass,time.mean [ms],peak_memory.max [MiB],outcome,reason\n"
          "128,forward,1,,ok,\n"
          "128,backward,,,oom,\"needs 8 GiB, has 4\"\n"
          "256,,,,skipped,no GPU\n");
  ASSERT_EQ(run.cases.size(), 2u);
  const auto& series = run.cases[0].series;
  ASSERT_EQ(series.size(), 3u);
  EXPECT_EQ(series[0].metric, "time");
  EXPECT_EQ(series[0].outcome, Outcome::ok);
  EXPECT_EQ(series[1].pass, "backward");
  EXPECT_EQ(series[1].outcome, Outcome::oom);
  EXPECT_EQ(series[1].reason, "needs 8 GiB, has 4");
  EXPECT_TRUE(series[1].statistics.empty());
  EXPECT_EQ(series[2].metric, "peak_memory");
  EXPECT_EQ(run.cases[0].outcome, Outcome::oom);
  EXPECT_EQ(run.cases[0].reason, "needs 8 GiB, has 4");
  EXPECT_TRUE(run.cases[1].series.empty());
  EXPECT_EQ(run.cases[1].outcome, Outcome::skipped);
  EXPECT_EQ(run.cases[1].reason, "no GPU");
}

TEST_F(StoreImport, WithoutAPassColumnAFailureStillHasItsCells) {
  const Run run = csv("seq_len,time.mean [ms],outcome\n128,,oom\n");
  ASSERT_EQ(run.cases[0].series.size(), 1u);
  EXPECT_EQ(run.cases[0].series[0].outcome, Outcome::oom);
}

TEST_F(StoreImport, FiguresInARowOfTheirOwnStandBesideAFailure) {
  for (const char* rows :
       {"forward,,ok,100\nforward,,oom,\n", "forward,,oom,\nforward,,ok,100\n"}) {
    const Run run = csv(std::string("pass,time.mean [ms],outcome,memory.max [B]\n") + rows);
    ASSERT_EQ(run.cases[0].series.size(), 2u);
    for (const Series& series : run.cases[0].series) {
      EXPECT_EQ(series.outcome, series.metric == "memory" ? Outcome::ok : Outcome::oom);
    }
  }
}

TEST_F(StoreImport, QuotesLineEndsAndMarksAreThoseOfTheRfc) {
  const Run run =
      csv("\xEF\xBB\xBF\"name\",time.mean [s] , outcome,reason\r\n"
          "\"a \"\"b\"\", c\", 1 ,ok,\r\n"
          "\r\n"
          "\" d\",2,error,\"two\nlines\"\r\n");
  ASSERT_EQ(run.cases.size(), 2u);
  EXPECT_EQ(run.cases[0].parameters.at("name"), Value(std::string("a \"b\", c")));
  EXPECT_EQ(run.cases[0].series[0].statistics.at("mean"), 1);
  EXPECT_EQ(run.cases[1].parameters.at("name"), Value(std::string(" d")));
  EXPECT_EQ(run.cases[1].series[0].reason, "two\nlines");
}

TEST_F(StoreImport, SettingsNamedAfterStatisticsAreAxes) {
  const Run run = csv("measure.samples,time.mean [s]\n10,1\n");
  EXPECT_EQ(run.cases[0].parameters.at("measure.samples"), Value(std::int64_t{10}));
}

TEST_F(StoreImport, OptionsNameTheRun) {
  const Run run =
      csv("time.mean [s]\n1\n",
          {.experiment = "attention", .run = "writeup", .when = "2026-01-01T00:00:00Z"});
  EXPECT_EQ(run.info.experiment, "attention");
  EXPECT_EQ(run.info.name, "writeup");
  EXPECT_EQ(run.info.started, "2026-01-01T00:00:00Z");
  EXPECT_EQ(csv("time.mean [s]\n1\n").info.experiment, "table");
}

TEST(AxisValue, FollowsYamlPlainScalars) {
  EXPECT_EQ(axis_value("16"), Value(std::int64_t{16}));
  EXPECT_EQ(axis_value("-16"), Value(std::int64_t{-16}));
  EXPECT_EQ(axis_value("+16"), Value(std::int64_t{16}));
  EXPECT_EQ(axis_value("0x1F"), Value(std::int64_t{31}));
  EXPECT_EQ(axis_value("0o17"), Value(std::int64_t{15}));
  EXPECT_EQ(axis_value("007"), Value(std::int64_t{7}));
  EXPECT_EQ(axis_value("1.0"), Value(1.0));
  EXPECT_EQ(axis_value("1e-3"), Value(1e-3));
  EXPECT_EQ(axis_value("99999999999999999999"), Value(1e20));
  EXPECT_EQ(axis_value("-.inf"), Value(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(axis_value("True"), Value(true));
  EXPECT_EQ(axis_value("false"), Value(false));
  EXPECT_EQ(axis_value("~"), Value());
  EXPECT_EQ(axis_value("null"), Value());
  for (const char* text :
       {"yes", "2.7B", "1 MB", "0x", "-0x10", "0x-5", "--1", "+-1", "1_000", "inf", "-"}) {
    EXPECT_EQ(axis_value(text), Value(std::string(text)));
  }
}

struct BadFile {
  const char* name;
  const char* file;
  std::string text;
  const char* expected;  // part of the message, from its place on

  friend void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }
};

class StoreImportError : public ::testing::TestWithParam<BadFile> {};

TEST_P(StoreImportError, SaysWhereAndWhat) {
  const auto run = import_text(GetParam().text, GetParam().file);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().exit_code, ExitCode::bad_input);
  EXPECT_NE(run.error().text().find(GetParam().expected), std::string::npos) << run.error().text();
}

std::string line_with(const std::string& fields) {
  return R"({"run":"a","experiment":"b","case":{"n":1},"pass":"forward","metric":"time","unit":"s")" +
         fields + "}\n";
}

INSTANTIATE_TEST_SUITE_P(
    Csv, StoreImportError,
    ::testing::Values(
        BadFile{"empty", "f.csv", " \n", "f.csv: the file is empty"},
        BadFile{"no_rows", "f.csv", "time.mean [s]\n", "f.csv:1:1: a header and no rows"},
        BadFile{"no_result", "f.csv", "a,b\n1,2\n", "f.csv:1:1: no column holds a result"},
        BadFile{"ragged_short", "f.csv", "a,time.mean [s]\n1\n",
                "f.csv:2:1: this row has 1 cells, the header 2"},
        BadFile{"ragged_long", "f.csv", "a,time.mean [s]\n1,2,3\n",
                "f.csv:2:5: this row has 3 cells, the header 2"},
        BadFile{"unit", "f.csv", "a,time.mean [parsec]\n", "f.csv:1:3: unknown unit 'parsec'"},
        BadFile{"unit_near", "f.csv", "mem.max [GIB]\n", "did you mean 'GiB'"},
        BadFile{"unit_open", "f.csv", "time.mean [s\n", "f.csv:1:1: 'time.mean [s' does not end"},
        BadFile{"no_statistic", "f.csv", "time [ms]\n", "such as time.mean [ms]"},
        BadFile{"statistic", "f.csv", "time.meen [ms]\n",
                "f.csv:1:1: unknown statistic 'meen'; did you mean 'mean'?"},
        BadFile{"two_dimensions", "f.csv", "time.mean [s],time.max [MiB]\n",
                "f.csv:1:15: 'time' is in 'byte' here and in 's' before"},
        BadFile{"duplicate_axis", "f.csv", "n,n,time.mean [s]\n", "f.csv:1:3: 'n' appears twice"},
        BadFile{"duplicate_figure", "f.csv", "time.mean [s],time.mean [ms]\n",
                "f.csv:1:15: 'time.mean [ms]' appears twice"},
        BadFile{"unnamed", "f.csv", ",time.mean [s]\n0,1\n", "f.csv:1:1: a column without a name"},
        BadFile{"case_of_name", "f.csv", "Pass,time.mean [s]\n", "'Pass' is written 'pass'"},
        BadFile{"semicolons", "f.csv", "a;b\n1;2\n", "columns are separated by commas"},
        BadFile{"number", "f.csv", "n,time.mean [s]\n1,fast\n",
                "f.csv:2:3: 'fast' is not a finite decimal number"},
        BadFile{"nan", "f.csv", "time.mean [s]\nnan\n", "leave the cell empty"},
        BadFile{"overflow", "f.csv", "time.mean [s]\n1e999\n", "f.csv:2:1: '1e999'"},
        BadFile{"thousands", "f.csv", "time.mean [s]\n\"1,000\"\n", "f.csv:2:1: '1,000'"},
        BadFile{"sample", "f.csv", "time.samples [s]\n[1 x]\n", "f.csv:2:1: 'x' is not"},
        BadFile{"open_list", "f.csv", "time.samples [s]\n[1 2\n", "between [ and ]"},
        BadFile{"outcome", "f.csv", "time.mean [s],outcome\n1,okay\n",
                "f.csv:2:3: unknown outcome 'okay'; known: ok, oom, unsupported"},
        BadFile{"negative_time", "f.csv", "time.mean [ms]\n-1\n",
                "f.csv:2:1: the series has a negative mean, -0.001"},
        BadFile{"negative_sample", "f.csv", "time.samples [s]\n[1 -2]\n",
                "f.csv:2:1: the series has a negative time, -2 s"},
        BadFile{"negative_deviation", "f.csv", "skew.mean [s],skew.std [s]\n-1,-0.5\n",
                "the series has a negative std, -0.5"},
        BadFile{"rank", "f.csv", "rank,time.mean [s]\n-1,1\n", "f.csv:2:1: '-1' is not a rank"},
        BadFile{"twice", "f.csv", "n,time.mean [s]\n1,1\n\n1,2\n",
                "f.csv:4:1: 'time' of this case, pass, part and rank appears twice; the first is "
                "on line 2"},
        BadFile{"quote_inside", "f.csv", "n,time.mean [s]\na\"b,1\n",
                "f.csv:2:2: a quote inside an unquoted cell"},
        BadFile{"after_quote", "f.csv", "n,time.mean [s]\n\"\u00e4\"b,1\n",
                "f.csv:2:4: text after a closing quote"},
        BadFile{"never_closed", "f.csv", "n,time.mean [s]\n1,\"2\n3,4\n",
                "f.csv:2:3: this quote is never closed"},
        BadFile{"zero_byte", "f.csv", std::string("n,t\n1,\0002\n", 9), "f.csv:2:3: a zero byte"}),
    [](const auto& param_info) { return param_info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    JsonLines, StoreImportError,
    ::testing::Values(
        BadFile{"syntax", "f.jsonl", line_with("") + "{\"run\": oops}\n",
                "f.jsonl:2:9: this is not JSON"},
        BadFile{"not_an_object", "f.jsonl", "[1]\n", "f.jsonl:1:1: line is not a JSON object"},
        BadFile{"too_early", "f.ndjson", "{\"run\":", "it ends too early"},
        BadFile{"fields", "f.jsonl", "{}", "f.jsonl:1:1: line has no field 'case'"},
        BadFile{"wrong_case", "f.jsonl", R"({"case":{"n":[]},"pass":"","metric":""})",
                "'n' should be true, false"},
        BadFile{"not_a_base_unit", "f.jsonl",
                R"({"case":{},"pass":"forward","metric":"time","unit":"ms"})",
                "f.jsonl:1:1: figures are in base units: 's', not 'ms'"},
        BadFile{"negative_time", "f.jsonl", line_with(R"(,"samples":[1,-1])"),
                "f.jsonl:1:1: the series has a negative time, -1 s"},
        BadFile{"negative_deviation", "f.jsonl", line_with(R"(,"statistics":{"iqr":-1})"),
                "the series has a negative iqr, -1"},
        BadFile{"wrong_outcome", "f.jsonl", line_with(R"(,"outcome":"fine")"),
                "'fine' is not an outcome"},
        BadFile{"two_runs", "f.jsonl",
                line_with("") + R"({"run":"z","experiment":"b","case":{},"pass":"","metric":""})",
                "f.jsonl:2:1: this line is of run 'z' of 'b', line 1 of run 'a' of 'b'"},
        BadFile{"provenance", "f.jsonl", line_with(R"(,"provenance":1)"),
                "'provenance' should be an object"},
        BadFile{"ordinal", "f.jsonl", line_with(R"(,"provenance":{"ordinal":"x"})"),
                "provenance.ordinal"},
        BadFile{"rest_of_run", "f.jsonl", line_with(R"(,"provenance":{"run":{"title":1}})"),
                "'title' should be a text"},
        BadFile{"rest_of_run_kind", "f.jsonl", line_with(R"(,"provenance":{"run":1})"),
                "provenance.run"},
        BadFile{"rest_of_case", "f.jsonl", line_with(R"(,"provenance":{"case":{"wall_s":"x"}})"),
                "'wall_s' should be a number"},
        BadFile{"build", "f.jsonl", line_with(R"(,"provenance":{"build":1})"),
                "'build' should be a text"},
        BadFile{
            "other_parameters", "f.jsonl",
            line_with(R"(,"provenance":{"ordinal":1})") +
                R"({"run":"a","experiment":"b","case":{"n":2},"pass":"","metric":"","provenance":{"ordinal":1}})",
            "f.jsonl:2:1: case 1 has other parameters here than on line 1"}),
    [](const auto& param_info) { return param_info.param.name; });

// What says when, and a difference, may be below zero.
TEST_F(StoreImport, OnlyWhatHasNoSignIsHeldAgainstIt) {
  const Run run = csv("sample_time.samples [s],skew.mean [ms],change.value []\n[-1 0],-2,-0.5\n");
  ASSERT_EQ(run.cases[0].series.size(), 3u);
  EXPECT_EQ(run.cases[0].series[0].samples, (std::vector<double>{-1, 0}));
}

TEST_F(StoreImport, TheFirstTwentyMistakesAreReportedTogether) {
  std::string text = "n,time.mean [s]\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{},bad\n", i);
  const Error error = import_text(text, "f.csv").error();
  ASSERT_EQ(error.diagnostics.size(), 21u);
  EXPECT_EQ(error.diagnostics[0].where.line, 2);
  EXPECT_EQ(error.diagnostics[19].where.line, 21);
  EXPECT_NE(error.diagnostics[20].message.find("30 more"), std::string::npos);
}

TEST_F(StoreImport, MissingFilesAndFoldersAreRefused) {
  EXPECT_NE(import_file(file("none.csv")).error().text().find("cannot be opened"),
            std::string::npos);
  EXPECT_NE(import_file(folder_).error().text().find("folder"), std::string::npos);
}

TEST_F(StoreImport, AFormatIsKnownByItsNameOrItsContent) {
  EXPECT_TRUE(import_file(write("a.txt", "time.mean [s]\n1\n")));
  EXPECT_TRUE(import_file(write("b.txt", line_with(""))));
  EXPECT_TRUE(import_file(write("c.jsonl", line_with(""))));
  EXPECT_FALSE(import_file(write("d.csv", line_with(""))));
}

TEST_F(StoreImport, JsonLinesFromElsewhereNeedNoProvenance) {
  const Run run =
      import_text(
          R"({"experiment":"peer","case":{"n":1},"pass":"forward","metric":"time","unit":"s","samples":[1,2]}
{"experiment":"peer","case":{"n":2},"pass":"forward","metric":"time","unit":"s","outcome":"oom","reason":"full"}

{"experiment":"peer","case":{"n":1},"pass":"backward","metric":"time","unit":"s","statistics":{"mean":3}}
)",
          "peer.jsonl", {.run = "peer-run"})
          .value();
  EXPECT_EQ(run.info.name, "peer-run");
  EXPECT_EQ(run.info.experiment, "peer");
  ASSERT_EQ(run.cases.size(), 2u);
  EXPECT_EQ(run.cases[0].key_text, "n=1");
  ASSERT_EQ(run.cases[0].series.size(), 2u);
  EXPECT_EQ(run.cases[0].series[1].statistics.at("mean"), 3);
  EXPECT_EQ(run.cases[0].outcome, Outcome::ok);
  EXPECT_EQ(run.cases[1].outcome, Outcome::oom);
  EXPECT_EQ(run.cases[1].reason, "full");
}

TEST_F(StoreImport, JsonLinesThatNameNothingAreNamedAfterTheirFile) {
  const Run run =
      import_text(R"({"case":{"n":1},"pass":"forward","metric":"time","unit":"s","samples":[1]})",
                  "figures/peer.jsonl", {.when = "2026-01-31T12:34:56Z"})
          .value();
  EXPECT_EQ(run.info.experiment, "peer");
  EXPECT_EQ(run.info.name, "");
  EXPECT_EQ(run.info.started, "2026-01-31T12:34:56Z");
  EXPECT_EQ(run.info.finished, "2026-01-31T12:34:56Z");
}

TEST_F(StoreImport, ManglingAGoodFileNeverCrashes) {
  const std::string good_csv =
      "n,pass,rank,time.mean [ms],time.samples [s],outcome,reason\n1,forward,0,1,[1 "
      "2],ok,\"a,\"\"b\"\n";
  const std::string good_lines =
      line_with(R"(,"samples":[1,2],"provenance":{"ordinal":0,"run":{},"case":{}})");
  int refused = 0;
  for (const std::string& good : {good_csv, good_lines}) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      refused += import_text(good.substr(0, i), "f") ? 0 : 1;
      for (const char c : {'"', ',', '\n', '[', ']', '{', '\0', '\x80'}) {
        std::string changed = good;
        changed[i] = c;
        const Result<Run> run = import_text(changed, "f");
        refused += run ? 0 : 1;
        EXPECT_TRUE(run || !run.error().diagnostics.empty());
      }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace assay::store
