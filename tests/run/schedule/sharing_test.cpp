#include "run/schedule/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/case_key.h"

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const std::vector<AskingChapter> chapters = {
    {"first", {"forward"}}, {"second", {"backward", "forward"}}, {"third", {"train_step"}}};

AskedCase asked(std::size_t chapter, store::Parameters parameters,
                std::vector<std::size_t> group = {}) {
  return {chapter, 0, std::move(parameters), "", std::move(group)};
}

store::Parameters length(std::int64_t seq_len, store::Parameters more = {}) {
  more["seq_len"] = seq_len;
  return more;
}

std::vector<std::string> keys(const Sharing& sharing) {
  std::vector<std::string> texts;
  for (const SharedCase& shared : sharing.cases) texts.push_back(case_key_text(shared.parameters));
  return texts;
}

TEST(SharedCases, AreMeasuredOnceWithThePassesOfAllChapters) {
  const Sharing sharing = share_cases(
      {asked(0, length(64)), asked(0, length(128)), asked(1, length(128)), asked(2, length(128))},
      chapters);
  EXPECT_THAT(keys(sharing), ElementsAre("seq_len=64", "seq_len=128"));
  EXPECT_THAT(sharing.of, ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(sharing.cases[0].passes, ElementsAre("forward"));
  EXPECT_THAT(sharing.cases[1].passes, ElementsAre("forward", "backward", "train_step"));
  EXPECT_THAT(sharing.cases[1].chapters, ElementsAre(0, 1, 2));
}

TEST(SharedCases, OfOtherSourcesAreApartUnderAKeyOfTheirOwn) {
  AskedCase other = asked(1, length(64));
  other.sources = "another model of the same name";
  const Sharing sharing =
      share_cases({asked(0, length(64)), other, asked(2, length(64))}, chapters);
  EXPECT_THAT(keys(sharing), ElementsAre("seq_len=64", "chapter=second, seq_len=64"));
  EXPECT_THAT(sharing.of, ElementsAre(0, 1, 0));
}

TEST(SharedCases, ThatTakeTurnsAreSharedOnlyWithTheirWholeGroup) {
  const auto in_turns = [](const char* precision) {
    return length(64, {{"precision", std::string(precision)}});
  };
  const std::vector<AskedCase> all = {
      asked(0, in_turns("fp32"), {0, 1}), asked(0, in_turns("bf16"), {0, 1}),
      asked(1, in_turns("bf16"), {2, 3}), asked(1, in_turns("fp32"), {2, 3}),
      asked(2, in_turns("fp32"), {4, 5}), asked(2, in_turns("fp16"), {4, 5})};
  const Sharing sharing = share_cases(all, chapters);
  EXPECT_THAT(keys(sharing), ElementsAre("precision=fp32, seq_len=64", "precision=bf16, seq_len=64",
                                         "chapter=third, precision=fp32, seq_len=64",
                                         "chapter=third, precision=fp16, seq_len=64"));
  EXPECT_THAT(sharing.of, ElementsAre(0, 1, 1, 0, 2, 3));
  EXPECT_EQ(sharing.cases[0].passes, sharing.cases[1].passes) << "a group has the same passes";
}

TEST(SharedCases, JoinObserversPhasesAndSteps) {
  const Sharing sharing = share_cases(
      {asked(0, length(64)),
       asked(1, length(64, {{"observe", std::string("memory, trace")}, {"measure.phases", true}})),
       asked(2, length(64, {{"observe", std::string("kernels, memory")},
                            {"measure.observed_steps", std::int64_t{5}}}))},
      chapters);
  EXPECT_THAT(keys(sharing), ElementsAre("measure.observed_steps=5, measure.phases=true, "
                                         "observe=kernels, memory, trace, seq_len=64"));
}

TEST(SharedCases, AreNotSkippedForWhatAnotherChapterAsks) {
  AskedCase skipped = asked(1, length(64, {{"observe", std::string("kernels")}}));
  skipped.skipped = true;
  const Sharing sharing = share_cases({asked(0, length(64)), skipped}, chapters);
  EXPECT_THAT(keys(sharing), ElementsAre("seq_len=64", "observe=kernels, seq_len=64"));
}

TEST(SharedCases, KeepASettingThatVariesWithinAChapter) {
  const Sharing sharing =
      share_cases({asked(0, length(64)), asked(0, length(64, {{"measure.phases", true}})),
                   asked(1, length(64)), asked(2, length(64, {{"measure.phases", true}}))},
                  chapters);
  EXPECT_THAT(keys(sharing), ElementsAre("seq_len=64", "measure.phases=true, seq_len=64"));
  EXPECT_THAT(sharing.of[0], 0);
  EXPECT_THAT(sharing.of[1], 1);
  EXPECT_THAT(sharing.cases, SizeIs(2));
}

}  // namespace
}  // namespace assay::run
