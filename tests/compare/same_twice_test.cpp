// The committed measurement of one binary against itself (reports/README.md): every difference that
// `assay compare` finds there is a mistake.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "compare/compare.h"
#include "compare/sides.h"

namespace assay::compare {
namespace {

constexpr int rounds = 4;
const std::string folder = ASSAY_SOURCE_DIR "/reports/h200/same_twice/";

// "a-1.jsonl,a-2.jsonl,…" of a side.
std::string files_of(char side) {
  std::string files;
  for (int round = 1; round <= rounds; ++round) {
    files += (round == 1 ? "" : ",") + folder + side + "-" + std::to_string(round) + ".jsonl";
  }
  return files;
}

// reports/README.md must state the figures of these results.
std::string readme_in_one_line() {
  std::string text = read_file(ASSAY_SOURCE_DIR "/README.md").value_or("");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Side read(char side) {
  const auto no_database = []() -> Result<store::Database> {
    return fail(ExitCode::results_unreadable, "the sides are files");
  };
  auto read = read_side(files_of(side), no_database);
  EXPECT_TRUE(read) << "the committed results are missing or cannot be read:\n"
                    << read.error().text();
  return read ? std::move(*read) : Side{};
}

TEST(SameTwice, AtMostThreeOfAHundredPairsAreCalledDifferent) {
  const Side a = read('a');
  const Side b = read('b');
  ASSERT_EQ(a.runs.size(), std::size_t{rounds});
  ASSERT_EQ(b.runs.size(), std::size_t{rounds});
  const auto comparison = compare(a, b, {});
  ASSERT_TRUE(comparison) << comparison.error().text();
  std::map<std::string, int> counts;
  std::string different;
  for (const Row& row : comparison->rows) {
    const std::string verdict(to_text(row.verdict));
    ++counts[verdict];
    if (verdict == "faster" || verdict == "slower") {
      different += verdict + " " + row.pass + " " + std::to_string(row.judgement.ratio) + "\n";
    }
  }
  EXPECT_EQ(comparison->rows.size(), 100u);
  EXPECT_EQ(counts["not-compared"], 0);
  EXPECT_LE(counts["faster"] + counts["slower"], 3) << different;
  // A comparison without verdicts would pass as well.
  EXPECT_GE(counts["same"], 30) << counts["inconclusive"] << " inconclusive";
  EXPECT_THAT(comparison->cautions, ::testing::IsEmpty());
  EXPECT_THAT(readme_in_one_line(), ::testing::HasSubstr(fmt::format(
                                        "none is called different](docs/compare.md#the-sides), "
                                        "{} are called the same, and {} are inconclusive",
                                        counts["same"], counts["inconclusive"])));
}

// The setup of a process makes 4 to 26 of these pairs differ, which a single run cannot show. With
// the assumed deviation, chosen from earlier runs, none is called different.
TEST(SameTwice, AtMostThreeOfAHundredPairsOfSingleRunsAreCalledDifferent) {
  const Side a = read('a');
  const Side b = read('b');
  for (std::size_t round = 0; round < std::min(a.runs.size(), b.runs.size()); ++round) {
    const auto comparison = compare({"a", {a.runs[round]}}, {"b", {b.runs[round]}}, {});
    ASSERT_TRUE(comparison) << comparison.error().text();
    const auto different =
        std::count_if(comparison->rows.begin(), comparison->rows.end(), [](const Row& row) {
          return row.verdict == Verdict::faster || row.verdict == Verdict::slower;
        });
    EXPECT_LE(different, 3) << "round " << round + 1;
    EXPECT_EQ(comparison->rows.size(), 100u);
  }
}

// Makes every sample of one side slower by this factor.
Side scaled(Side side, double factor) {
  for (store::Run& run : side.runs) {
    for (store::CaseResult& result : run.cases) {
      for (store::Series& series : result.series) {
        if (series.metric != "time") continue;
        for (double& sample : series.samples) sample *= factor;
      }
    }
  }
  return side;
}

std::ptrdiff_t count_slower(const Side& a, const Side& b) {
  const auto comparison = compare(a, b, {});
  EXPECT_TRUE(comparison) << comparison.error().text();
  if (!comparison) return 0;
  return std::count_if(comparison->rows.begin(), comparison->rows.end(),
                       [](const Row& row) { return row.verdict == Verdict::slower; });
}

// A comparison that finds no difference would pass all of the above.
TEST(SameTwice, ASideThatIsTenPercentSlowerIsCalledSlower) {
  const Side a = read('a');
  const Side b = scaled(read('b'), 1.10);
  EXPECT_GE(count_slower(a, b), 95);
  EXPECT_THAT(readme_in_one_line(), ::testing::HasSubstr(fmt::format(
                                        "10 % longer, {} are called slower", count_slower(a, b))));
  for (std::size_t round = 0; round < std::min(a.runs.size(), b.runs.size()); ++round) {
    EXPECT_GE(count_slower({"a", {a.runs[round]}}, {"b", {b.runs[round]}}), 95)
        << "round " << round + 1;
  }
}

TEST(SameTwice, BothSidesAreTheSameBinaryOnTheSameGpu) {
  std::set<std::string> commits, builds, gpus, started;
  for (const char side : {'a', 'b'}) {
    const Side read_one = read(side);
    for (const store::Run& run : read_one.runs) {
      commits.insert(run.info.first.provenance["source"]["commit"].dump());
      EXPECT_NE(run.info.first.provenance["source"]["clean"], false);
      gpus.insert(run.info.first.machine["gpus"].dump());
      started.insert(run.info.started);
      std::map<std::string, std::string> build_of;
      for (const store::CaseResult& result : run.cases) {
        builds.insert(result.key + " " + result.build);
      }
      EXPECT_EQ(run.cases.size(), 50u);
    }
  }
  EXPECT_EQ(commits.size(), 1u);
  EXPECT_EQ(gpus.size(), 1u);
  EXPECT_EQ(builds.size(), 50u) << "a case was measured by more than one build";
  EXPECT_EQ(started.size(), 2u * rounds) << "every file is a run of its own";
}

}  // namespace
}  // namespace assay::compare
