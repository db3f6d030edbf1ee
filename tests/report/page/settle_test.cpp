#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::cells_of;
using testing_support::markdown;
using testing_support::Rows;

// Of ten samples three are `high`, over ten rounds.
std::string samples(const std::string& usual, const std::string& high) {
  std::string text;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 10; ++i) text += (i % 3 == 1 ? high : usual) + " ";
  }
  return text;
}

// Medians 1.2 and 0.8 ms, means 3 and 1 ms: the ratio is 1.5 or 3.
const std::string outlying = "attention,seq_len,pass,time.samples [ms]\nnaive,128,forward," +
                             samples("1.2", "7.2") + "\nflash,128,forward," +
                             samples("0.8", "1.4666666667") + "\n";

std::string table(const std::string& keys, const std::string& figure = "") {
  return "- table:\n    rows: [attention]\n" + keys +
         "    columns: {ms: {metric: time, unit: ms, format: g6" + figure + "}}\n";
}

const char* const findings = "- findings: [speedup]\n";

TEST(Statistic, OfATableItsFindingsAndPlotsIsTheMedian) {
  const std::string text = markdown(outlying, table("") + findings);
  EXPECT_EQ(cells_of(text), (Rows{{"attention", "ms"}, {"naive", "1.2"}, {"flash", "0.8"}}));
  EXPECT_THAT(text, HasSubstr("**flash is 1.5× faster than naive**"));
  EXPECT_THAT(text, Not(HasSubstr("Times here")));
}

TEST(Statistic, ThatTheTablesNameRulesTheFindings) {
  for (const char* figure : {", stat: mean", ", stat: [mean, std]", ", stat: std"}) {
    EXPECT_THAT(markdown(outlying, table("", figure) + findings),
                HasSubstr("**flash is 3× faster than naive**"))
        << figure;
  }
  EXPECT_THAT(markdown(outlying, findings + table("    stat: mean\n")),
              HasSubstr("**flash is 3× faster than naive**"));
}

TEST(Statistic, CanBeSetForFindings) {
  const std::string text =
      markdown(outlying, table("") + "- findings: [{speedup: {stat: mean}}]\n");
  EXPECT_THAT(text, HasSubstr("**flash is 3× faster than naive**"));
  EXPECT_THAT(text, HasSubstr("1.2 |"));
}

TEST(Statistic, ATableThatDiffersSaysSoUnderItsTitle) {
  const std::string text =
      markdown(outlying, table("", ", stat: median") +
                             table("    for_each: [seq_len]\n    title: Means\n    stat: mean\n"));
  EXPECT_THAT(text, HasSubstr("### Means\n\nTimes here are means, elsewhere in this report medians."
                              "\n\n|"));
  EXPECT_EQ(text.find("Times here"), text.rfind("Times here"));
}

// A count has one statistic whatever the times have.
TEST(Statistic, OfCountsStaysTheMean) {
  EXPECT_EQ(cells_of(markdown("model,pass,time.samples [ms],skipped.samples [count]\n"
                              "small,train_step,1 1 1,0 0 3\n",
                              "- table: {rows: [model], columns: {skipped: {metric: skipped}}}\n")),
            (Rows{{"model", "skipped"}, {"small", "1"}}));
}

TEST(Statistic, OfFiguresWithoutMediansIsTheMean) {
  EXPECT_THAT(markdown("attention,pass,time.mean [ms]\nnaive,forward,3\nflash,forward,1\n",
                       table("") + findings),
              HasSubstr("**flash is 3× faster than naive**"));
}

TEST(Statistic, TheMarginReachesTheFartherEndOfTheMediansInterval) {
  // Of ten samples the interval runs from the second to the ninth: 2 to 12 around 5.5.
  EXPECT_EQ(cells_of(markdown("model,pass,time.samples [s]\nsmall,forward,5 12 1 8 3 90 2 7 4 6\n",
                              "- table: {rows: [model], columns: {s: {metric: time, unit: s, stat: "
                              "[median, margin]}}}\n")),
            (Rows{{"model", "s"}, {"small", "5.5 ± 6.5"}}));
}

}  // namespace
}  // namespace assay::report
