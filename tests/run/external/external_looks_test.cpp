// What a program tells of looks at its timed calls, and the mark of one that tells of none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "external_program.h"
#include "store/records/marks.h"

namespace assay::run {
namespace {

// The marks of a case whose exchange, if any, found nothing.
std::vector<store::Mark> marks_of(ExternalEnd left) {
  return with_findings(std::move(left), {}, "mine").facts.marks;
}

constexpr const char* looked_at =
    R"({"looks": {"pass": "forward", "integrity": "fast", "renewed_inputs": 2, "looks": 3, )"
    R"("error": 1e-7, "tolerance": 1e-5, "of": "out", "error_ratio": 1.5, "looks_s": 0.25}})";

TEST_F(External, TellsOfItsLooksOrIsSelfTimed) {
  auto left = printing(timed);
  ASSERT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  const auto marks = marks_of(std::move(left));
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].mark, store::self_timed);
  EXPECT_EQ(marks[0].pass, "forward");

  left = printing(std::string(timed) + "\n" + looked_at);
  ASSERT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  const store::TimedLooksFacts facts = left.end.facts.verification.at("forward").timed;
  EXPECT_EQ(facts.integrity, "fast");
  EXPECT_EQ(facts.renewed_inputs, 2);
  EXPECT_EQ(facts.looks, 3);
  EXPECT_EQ(facts.error, 1e-7);
  EXPECT_EQ(facts.tolerance, 1e-5);
  EXPECT_EQ(facts.of, "out");
  EXPECT_EQ(facts.error_ratio, 1.5);
  EXPECT_EQ(facts.looks_s, 0.25);
  EXPECT_TRUE(marks_of(std::move(left)).empty());
}

TEST_F(External, SaysWhyNothingWasLookedAt) {
  auto left = printing(
      std::string(timed) + "\n" +
      R"({"looks": {"pass": "forward", "integrity": "fast", "renewed_inputs": 2, "looks": 0, )"
      R"("left_out": "out of memory"}})");
  ASSERT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  const store::TimedLooksFacts facts = left.end.facts.verification.at("forward").timed;
  EXPECT_FALSE(facts.looks);
  EXPECT_EQ(facts.left_out, "out of memory");
  const auto marks = marks_of(std::move(left));
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].mark, store::self_timed);
  EXPECT_THAT(marks[0].reason, ::testing::EndsWith("were not looked at: out of memory"));
}

TEST_F(External, APassWithoutATimeIsNotSelfTimed) {
  auto left = printing(
      R"({"series": {"pass": "forward", "metric": "time", "outcome": "wrong", "reason": "in a timed call: out holds NaN"}})");
  EXPECT_EQ(left.end.outcome, Outcome::wrong);
  EXPECT_EQ(left.end.reason, "in a timed call: out holds NaN");
  EXPECT_TRUE(marks_of(std::move(left)).empty());
}

TEST_F(External, LooksMustBeThoseOfTheCase) {
  const std::string looks(looked_at);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = looks;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string at = "the program's looks at 'forward' ";
  const std::vector<std::pair<std::string, std::string>> refused = {
      {changed("\"forward\"", "\"sideways\""),
       "the program's looks at 'sideways' are of no pass of the case"},
      {changed("fast", "full"), at + "were at the level 'full', the case asks for 'fast'"},
      {changed("\"looks\": 3", "\"looks\": 0"), at + "are none"},
      {changed("\"looks\": 3", "\"looks\": \"3\""), at + "are none"},
      {changed("inputs\": 2", "inputs\": 0"), at + "were at calls without a renewed input"},
      {changed("\"error\": 1e-7", "\"error\": 1e-4"),
       at + "found an error of 0.0001, their tolerance is 1e-05"},
      {changed("\"error\": 1e-7", "\"error\": null"),
       at + "found an error of nan, their tolerance is 1e-05"},
      {looks + "\n" + looks, "the program told of its looks at a pass more than once"},
  };
  for (const auto& [lines, reason] : refused) {
    auto left = printing(std::string(timed) + "\n" + lines);
    EXPECT_EQ(left.end.outcome, Outcome::error) << lines;
    EXPECT_EQ(left.end.reason, reason);
  }
  resolved_.request.parameters["measure.integrity"] = std::string("full");
  EXPECT_EQ(printing(std::string(timed) + "\n" + changed("fast", "full")).end.outcome, Outcome::ok);
}

}  // namespace
}  // namespace assay::run
