#include "run/workers/case_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/records/marks.h"

namespace assay::run {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A case of one pass that a clock has timed on two ranks.
class LookedAt : public ::testing::Test {
 protected:
  LookedAt() {
    request_.parameters = {{"workload", std::string("model_step")},
                           {"compile", std::string("eager")}};
    for (const int rank : {0, 1}) {
      end_.series.push_back(
          {.pass = "train_step", .metric = "time", .rank = rank, .clock = "wall", .samples = {1}});
      end_.series.push_back({.pass = "train_step", .metric = "peak_memory", .rank = rank});
    }
  }

  store::TimedLooksFacts& told() { return end_.facts.verification["train_step"].timed; }

  std::vector<store::Mark> marks() {
    CaseEnd end = end_;
    mark_not_looked_at(request_, end);
    return end.facts.marks;
  }

  wire::CaseRequest request_;
  CaseEnd end_;
};

TEST_F(LookedAt, HasNoMark) {
  told().looks = 1;
  told().left_out = "another rank lacks the memory";  // of another look
  EXPECT_THAT(marks(), IsEmpty());
}

TEST_F(LookedAt, ThatWasLeftOutIsMarkedOnceWithItsReason) {
  told().renewed_inputs = 2;
  told().looks = 0;
  told().left_out = "the GPU lacks the memory for a reference";
  ASSERT_EQ(marks().size(), 1u);
  EXPECT_EQ(marks()[0].mark, store::not_looked_at);
  EXPECT_EQ(marks()[0].pass, "train_step");
  EXPECT_EQ(marks()[0].reason,
            "none of its timed calls was compared with a reference: the GPU lacks the memory for a "
            "reference");
}

TEST_F(LookedAt, OfWhichNothingIsToldIsMarked) {
  ASSERT_EQ(marks().size(), 1u);
  EXPECT_THAT(marks()[0].reason, HasSubstr("nothing is told of looks"));
}

TEST_F(LookedAt, WithoutInputsIsExemptWhereNoVariantWorks) {
  told().renewed_inputs = 0;
  ASSERT_EQ(marks().size(), 1u);
  EXPECT_THAT(marks()[0].reason, HasSubstr("the workload names no inputs that could be new"));
  request_.parameters.erase("compile");
  EXPECT_THAT(marks(), IsEmpty());
  told().left_out = "this build cannot change its inputs between calls";
  EXPECT_EQ(marks().size(), 1u);
}

TEST_F(LookedAt, ThatHasNoTimeIsNotMarked) {
  for (store::Series& series : end_.series) series.outcome = Outcome::wrong;
  EXPECT_THAT(marks(), IsEmpty());
}

}  // namespace
}  // namespace assay::run
