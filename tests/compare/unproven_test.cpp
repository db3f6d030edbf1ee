// Times of which nothing shows what work they are of.

#include <gtest/gtest.h>

#include "compare/compare.h"
#include "store/exchange/import.h"

namespace assay::compare {
namespace {

Side marked_side(const std::string& ms, const std::string& mark) {
  auto run =
      store::import_text("pass,time.samples [ms],peak_memory.samples [byte]\nforward,[" + ms + " " +
                             ms + " " + ms + " " + ms + " " + ms + " " + ms + "],[1]\n",
                         "figures.csv");
  if (!run) {
    ADD_FAILURE() << run.error().text();
    return {};
  }
  store::CaseResult& result = run->cases.front();
  for (store::Series& series : result.series) {
    if (series.metric == "time") series.clock = "wall";
  }
  if (!mark.empty()) result.facts.marks.push_back({mark, "forward", "nobody looked"});
  return {"side", {std::move(*run)}};
}

Row compared_row(const Side& a, const Side& b, const std::string& metric = "time") {
  Question question;
  question.metric = metric;
  question.between_runs = 0;
  auto comparison = compare(a, b, question);
  if (!comparison) {
    ADD_FAILURE() << comparison.error().text();
    return {};
  }
  return comparison->rows.front();
}

TEST(UnprovenTimes, AreNeitherFasterNorSlower) {
  for (const char* mark : {"self-timed", "settings"}) {
    const Row wins = compared_row(marked_side("2", ""), marked_side("1", mark));
    EXPECT_EQ(wins.verdict, Verdict::not_compared);
    EXPECT_EQ(wins.reason, std::string("B is marked ") + mark + ": nobody looked");
    const Row loses = compared_row(marked_side("1", mark), marked_side("2", ""));
    EXPECT_EQ(loses.verdict, Verdict::not_compared);
    EXPECT_EQ(loses.reason, std::string("A is marked ") + mark + ": nobody looked");
  }
}

TEST(UnprovenTimes, LeaveOtherMarksAndOtherFiguresToBeCompared) {
  EXPECT_EQ(compared_row(marked_side("2", ""), marked_side("1", "busy")).verdict, Verdict::faster);
  EXPECT_EQ(
      compared_row(marked_side("2", ""), marked_side("1", "self-timed"), "peak_memory").verdict,
      Verdict::same);
}

}  // namespace
}  // namespace assay::compare
