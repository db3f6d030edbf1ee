#include "store/records/intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "recorded.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::in_lane;
using testing::recorded;
using testing::words;

TEST(Intake, NamesAreOneLineOfText) {
  EXPECT_TRUE(is_one_line("layers.0.σ (fp32)"));
  EXPECT_TRUE(is_one_line(""));
  EXPECT_FALSE(is_one_line("two\nlines"));
  EXPECT_FALSE(is_one_line("bell\a"));
  EXPECT_FALSE(is_one_line("\xff\xfe"));
  EXPECT_FALSE(is_one_line("half \xcf"));
  EXPECT_TRUE(is_one_line(std::string(longest_name, 'x')));
  EXPECT_FALSE(is_one_line(std::string(longest_name + 1, 'x')));
}

TEST(Intake, WhatIsRefusedIsNamedOnceAndTheRestIsKept) {
  SeriesIntake intake(0);
  std::vector<Series> kept;
  intake.take(recorded("time", "a\nb", {1}), kept);
  intake.take(recorded("time", "", {2}), kept);
  intake.take(words("dtype", "", {"bf16\r"}), kept);
  Series of_another = recorded("time", "", {3});
  of_another.rank = 4;
  intake.take(of_another, kept);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].samples, std::vector<double>{2});
  EXPECT_THAT(intake.problems(), ElementsAre(HasSubstr("a word with a line break"),
                                             HasSubstr("'time' of 'a?b' in forward")));
}

TEST(Intake, AMillionPartsAreBounded) {
  SeriesIntake intake(0);
  std::vector<Series> kept;
  for (int i = 0; i < 100'000; ++i) intake.take(recorded("norm", std::to_string(i), {1}), kept);
  Series time = recorded("time", "", {1});
  time.clock = "wall";
  intake.take(time, kept);
  EXPECT_EQ(kept.size(), 21'001u) << "a time counts to no limit";
  EXPECT_THAT(intake.problems(), ElementsAre(HasSubstr("a case keeps 21000 series a rank")));
}

TEST(Intake, ASeriesWithoutEndIsBounded) {
  SeriesIntake intake(0);
  std::vector<Series> kept;
  intake.take(recorded("norm", "", std::vector<double>(1'100'001, 1.0)), kept);
  intake.take(recorded("norm", "b", {1}), kept);
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_THAT(intake.problems(), ElementsAre(HasSubstr("a case keeps 1100000 values")));
}

TEST(Intake, AThousandKindsOfMistakesAreBoundedToo) {
  SeriesIntake intake(0);
  std::vector<Series> kept;
  for (int i = 0; i < 1000; ++i) {
    intake.take(recorded("m" + std::to_string(i), "\n", {1}), kept);
  }
  EXPECT_EQ(intake.problems().size(), 21u);
  EXPECT_THAT(intake.problems().back(), HasSubstr("980 more"));
}

TEST(Intake, SpansThatAreNoneAreDroppedAndTheOthersStay) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<Series> all = {
      in_lane(recorded("span_start", "a", {1, 2, 3, 4}), "l"),
      in_lane(recorded("span_end", "a", {2, 1, nan, 4}), "l"),
      in_lane(recorded("span_start", "a", {1}), "m"),
      in_lane(recorded("span_end", "a", {infinity}), "m"),
      in_lane(recorded("span_start", "b", {1, 2}), "l"),
      in_lane(recorded("span_end", "b", {3}), "l"),
      in_lane(recorded("span_end", "c", {3}), "l"),
      recorded("time", "", {nan}),
  };
  const auto sentences = drop_bad_spans(all);
  EXPECT_EQ(sentences.size(), 3u);
  EXPECT_THAT(sentences.front(), HasSubstr("2 of 4 spans of 'a' in lane 'l'"));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].samples, (std::vector<double>{1, 4}));
  EXPECT_EQ(all[1].samples, (std::vector<double>{2, 4}));
  EXPECT_EQ(all[2].samples, std::vector<double>{1});
  EXPECT_EQ(all[3].samples, std::vector<double>{3});
  EXPECT_EQ(all[4].metric, "time");
}

TEST(Intake, SoundSpansAreLeftAsTheyAre) {
  std::vector<Series> all = testing::recording_run().cases[0].series;
  EXPECT_THAT(drop_bad_spans(all), ElementsAre());
  EXPECT_EQ(all.size(), testing::recording_run().cases[0].series.size());
}

TEST(Intake, ARankLeavesEachFileOnce) {
  const CaseResult result = testing::sample_case(0);
  std::vector<Artefact> sent(3, testing::artefact_of(result, "a.json", "x"));
  sent[1].rank = 1;
  std::vector<std::string> problems;
  EXPECT_EQ(sound_artefacts(sent, 0, problems).size(), 1u);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("names it as rank 1's"),
                                    HasSubstr("another file of that name")));
}

}  // namespace
}  // namespace assay::store
