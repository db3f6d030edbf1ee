#include "cli/bench/bench_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "cli/bench/bench_output.h"
#include "store/records/identity.h"

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int processes = 3;

// A run in which each variant takes `times` ms in each of three processes, deviating by 0.2 %.
store::Run run_of(const std::vector<std::pair<std::string, double>>& times, int seed,
                  std::int64_t seq_len = 4096) {
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::normal_distribution<double> noise(0, 0.002);
  store::Run run;
  run.info.name = "bench_attention-1";
  for (int process = 0; process < processes; ++process) {
    for (const auto& [variant, ms] : times) {
      store::CaseResult result;
      result.parameters = {{"attention", Value(variant)},
                           {"repeat", Value(std::int64_t{process})},
                           {"seq_len", Value(seq_len)},
                           {"device", Value(std::string("cuda"))}};
      store::set_key(result);
      store::Series series;
      series.pass = "forward";
      series.metric = "time";
      series.unit = "s";
      for (int i = 0; i < 40; ++i) {
        series.samples.push_back(1e-3 * ms * std::exp(noise(generator)));
      }
      result.series.push_back(series);
      run.cases.push_back(result);
    }
  }
  return run;
}

TEST(Bench, SaysHowManyTimesFasterTheFastestRan) {
  const BenchResult result = bench_result(run_of({{"flash", 1.31}, {"mine", 1.0}}, 1), "attention");
  ASSERT_EQ(result.rows.size(), 2u) << "the processes of a variant are one row";
  EXPECT_THAT(result.rows[0].sizes, ElementsAre(40, 40, 40));
  EXPECT_THAT(bench_sentences(result),
              ElementsAre(::testing::MatchesRegex(
                  "mine ran 1\\.3[01][0-9]* ± 0\\.0[0-9]+ times faster than flash")));
  EXPECT_THAT(bench_text(result), HasSubstr("median [ms]"));
}

// Two processes whose times lie far apart.
TEST(Bench, WritesFiguresWithoutExponentsAndWithTheDigitsOfTheirUncertainty) {
  store::Run wide = run_of({{"a", 700}, {"b", 701}}, 3);
  for (store::CaseResult& result : wide.cases) {
    for (std::size_t i = 0; i < 20; ++i) result.series.front().samples[i] *= 0.5;
  }
  const std::string table = bench_text(bench_result(wide, "attention"));
  EXPECT_THAT(table, Not(HasSubstr("e+")));
  EXPECT_THAT(table, ::testing::ContainsRegex("a +[0-9]+  [0-9]+\n"));
}

TEST(Bench, ShowsTheIntervalOfARatioThatIsKnownPoorly) {
  store::Run single = run_of({{"a", 1}, {"b", 4}}, 10);
  single.cases.resize(2);
  for (store::CaseResult& result : single.cases) {
    result.parameters["device"] = Value(std::string("cpu"));
  }
  const auto sentences = bench_sentences(bench_result(single, "attention"));
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_THAT(sentences[0], ::testing::MatchesRegex(
                                "a ran [0-9.]+ \\([0-9.]+ to [0-9.]+\\) times faster than b"));
}

TEST(Bench, CallsNoDifferenceByItsName) {
  const auto same =
      bench_sentences(bench_result(run_of({{"a", 1}, {"b", 1.0005}}, 2), "attention"));
  ASSERT_EQ(same.size(), 1u);
  EXPECT_THAT(same[0], HasSubstr("No difference"));
  EXPECT_THAT(same[0], Not(HasSubstr("times faster")));
  // A single process says too little about 3 %.
  store::Run single = run_of({{"a", 1}, {"b", 1.03}}, 3);
  single.cases.resize(2);
  const auto unclear = bench_sentences(bench_result(single, "attention"));
  ASSERT_EQ(unclear.size(), 1u);
  EXPECT_THAT(unclear[0], HasSubstr("No difference shown between a and b"));
}

TEST(Bench, NamesAnOptionOnlyWhereItTellsCasesOfOneVariantApart) {
  store::Run run = run_of({{"naive", 2}, {"tiled", 1}, {"flash", 1}}, 11);
  for (store::CaseResult& result : run.cases) {
    const std::string variant = store::text_of(result.parameters, "attention");
    if (variant == "tiled") result.parameters["attention.block_m"] = Value(std::int64_t{64});
    if (variant == "flash") result.parameters["attention.stages"] = Value(std::int64_t{2});
  }
  for (store::CaseResult more : run_of({{"tiled", 3}}, 12).cases) {
    more.parameters["attention.block_m"] = Value(std::int64_t{16});
    run.cases.push_back(more);
  }
  std::set<std::string> variants;
  for (const BenchRow& row : bench_result(run, "attention").rows) variants.insert(row.variant);
  EXPECT_THAT(variants, ElementsAre("flash", "naive", "tiled (block_m 16)", "tiled (block_m 64)"));
}

TEST(Bench, NamesThePlaceThatVaries) {
  store::Run run = run_of({{"flash", 2}, {"mine", 1}}, 4);
  for (store::CaseResult& more : run_of({{"flash", 1}, {"mine", 4}}, 5, 1024).cases) {
    run.cases.push_back(std::move(more));
  }
  const auto sentences = bench_sentences(bench_result(run, "attention"));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_THAT(sentences[0], HasSubstr("mine ran "));
  EXPECT_THAT(sentences[0], HasSubstr("faster than flash (seq_len 4096)"));
  EXPECT_THAT(sentences[1], HasSubstr("faster than mine (seq_len 1024)"));
}

TEST(Bench, ShowsTheChangeSinceABaseline) {
  BenchResult result = bench_result(run_of({{"a", 1.1}, {"b", 1}, {"c", 1}}, 6), "attention");
  add_changes(run_of({{"a", 1}, {"b", 1}}, 7), "main", result);
  const auto table = bench_table(result);
  EXPECT_EQ(table.columns.back().name, "since main");
  EXPECT_THAT(table.columns.back().cells[0], ::testing::MatchesRegex("\\+(9|10)\\.[0-9] % ± .*"));
  EXPECT_THAT(table.columns.back().cells[1], "no difference");
  EXPECT_THAT(table.columns.back().cells[2], "-") << "the baseline lacks it";
}

TEST(Bench, MarksWhatDidNotTakeTurnsAndShowsWhatFailed) {
  store::Run run = run_of({{"flash", 2}, {"peer", 1}}, 8);
  for (store::CaseResult& result : run.cases) {
    if (store::text_of(result.parameters, "attention") != "peer") continue;
    result.facts.interleaved.emplace();
    result.facts.interleaved->apart = "it is external";
  }
  store::CaseResult failed;
  failed.parameters = run.cases[0].parameters;
  failed.parameters["attention"] = Value(std::string("large"));
  failed.outcome = Outcome::oom;
  failed.reason = "20 GiB were asked for";
  run.cases.push_back(failed);
  const std::string text = bench_text(bench_result(run, "attention"));
  EXPECT_THAT(text, HasSubstr("‡ peer did not take turns: it is external"));
  EXPECT_THAT(text, HasSubstr("large is oom: 20 GiB were asked for"));
}

void mark(store::Run& run, const std::string& variant, const std::string& with) {
  for (store::CaseResult& result : run.cases) {
    if (store::text_of(result.parameters, "attention") != variant) continue;
    result.series.front().clock = "wall";
    result.facts.marks.push_back({with, "", "why"});
  }
}

TEST(Bench, WhatTimedItselfOrChangedItsJudgeWinsNoSentence) {
  for (const std::string unproven : {"self-timed", "settings"}) {
    store::Run run = run_of({{"flash", 3}, {"mine", 2}, {"peer", 1}}, 10);
    mark(run, "peer", unproven);
    BenchResult result = bench_result(run, "attention");
    EXPECT_THAT(bench_sentences(result),
                ElementsAre(HasSubstr("mine ran 1.50"),
                            "peer is compared with none: it is marked " + unproven));
    EXPECT_THAT(bench_text(result), HasSubstr("† " + unproven + ": why"));
    add_changes(run_of({{"mine", 1}, {"peer", 2}}, 11), "main", result);
    EXPECT_TRUE(result.rows[1].change);
    EXPECT_FALSE(result.rows[2].change) << "a change is a comparison, too";
  }
}

TEST(Bench, SentencesNameTheMarksOfTheirRows) {
  store::Run run = run_of({{"flash", 2}, {"mine", 1}}, 12);
  mark(run, "mine", "busy");
  mark(run, "flash", "wide");
  EXPECT_THAT(bench_sentences(bench_result(run, "attention")),
              ElementsAre(::testing::EndsWith(" times faster than flash; marked busy or wide")));
}

TEST(Bench, ExportsWhatItShows) {
  const BenchResult result = bench_result(run_of({{"flash", 2}, {"mine", 1}}, 9), "attention");
  const auto json = bench_json(result);
  EXPECT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][1]["variant"], "mine");
  EXPECT_NEAR(json["results"][1]["median_s"].get<double>(), 1e-3, 1e-5);
  EXPECT_EQ(json["results"][1]["samples_s"].size(), 120u);
  EXPECT_EQ(json["comparisons"][0]["fastest"], "mine");
  EXPECT_NEAR(json["comparisons"][0]["ratio"].get<double>(), 2, 0.01);
  const std::string csv = bench_csv(result);
  EXPECT_THAT(csv, ::testing::StartsWith("attention,pass,outcome,median_s,"));
  EXPECT_THAT(csv, HasSubstr("\nmine,forward,ok,0.00"));
  EXPECT_THAT(bench_markdown(result), HasSubstr("| attention "));
  EXPECT_THAT(bench_markdown(result), HasSubstr("- mine ran "));
}

}  // namespace
}  // namespace assay::cli
