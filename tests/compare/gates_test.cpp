#include "compare/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Row row(Verdict verdict, double ratio, double low, double high, const std::string& unit = "s") {
  Row made;
  made.pass = "forward";
  made.unit = unit;
  made.verdict = verdict;
  made.judgement.ratio = ratio;
  made.judgement.interval = {low, high};
  return made;
}

Gate gate(const std::string& text) { return parse_gates({text}).value().gates.at(0); }

TEST(Gates, AreAVerdictAndASize) {
  const Row slower = row(Verdict::slower, 1.2, 1.19, 1.21);
  EXPECT_TRUE(meets(slower, gate("slower")));
  EXPECT_TRUE(meets(slower, gate("slower:5%")));
  EXPECT_TRUE(meets(slower, gate("slower: 19.9 %")));
  EXPECT_FALSE(meets(slower, gate("slower:21%")));
  EXPECT_FALSE(meets(slower, gate("faster")));
  EXPECT_FALSE(meets(slower, gate("not-compared")));
}

TEST(Gates, MayStandBesideEachOther) {
  const Gates gates = parse_gates({"slower:5%, undecided", "not-compared"}).value();
  ASSERT_EQ(gates.gates.size(), 2u);
  EXPECT_EQ(gates.gates[0].text(), "slower:5%");
  EXPECT_EQ(gates.gates[1].text(), "not-compared");
  EXPECT_TRUE(gates.undecided);
  EXPECT_FALSE(parse_gates({"slower:5%"}).value().undecided);
}

TEST(Gates, SayWhatIsWrongWithThem) {
  const auto complaint = [](const std::string& text) { return parse_gates({text}).error().text(); };
  EXPECT_THAT(complaint("slowr:5%"), HasSubstr("did you mean 'slower'?"));
  EXPECT_THAT(complaint("slower:5%,undecide"), HasSubstr("did you mean 'undecided'?"));
  for (const char* size : {"slower:", "slower:5", "slower:%", "slower:-1%", "slower:nan%"}) {
    EXPECT_THAT(complaint(size), HasSubstr("is not a percentage")) << size;
  }
  EXPECT_THAT(complaint("inconclusive:5%"), HasSubstr("has no size"));
  EXPECT_THAT(complaint("undecided"), HasSubstr("such as slower:5%,undecided"));
  EXPECT_THAT(complaint("not-compared,undecided"), HasSubstr("such as slower:5%,undecided"));
}

struct Undecided {
  Row row;
  std::string gate;
  bool expected;
};

TEST(Gates, AreUndecidedWhereTheIntervalReachesTheirSize) {
  const double none = std::nan("");
  const std::vector<Undecided> all = {
      {row(Verdict::inconclusive, 1.05, 0.99, 1.11), "slower:5%", true},
      {row(Verdict::inconclusive, 1.00, 0.96, 1.04), "slower:5%", false},
      {row(Verdict::inconclusive, 0.95, 0.85, 1.06), "slower:5%", true},
      {row(Verdict::same, 1.00, 0.991, 1.009), "slower:5%", false},
      {row(Verdict::same, 1.00, 0.991, 1.009), "slower", false},
      {row(Verdict::inconclusive, 1.00, 0.99, 1.011), "slower", true},  // from 1 % on it counts
      {row(Verdict::slower, 1.03, 1.01, 1.06), "slower:5%", true},
      {row(Verdict::slower, 1.06, 1.02, 1.10), "slower:5%", false},  // it is met
      {row(Verdict::faster, 0.90, 0.88, 0.92), "slower:5%", false},
      {row(Verdict::inconclusive, 0.97, 0.94, 1.01), "faster:5%", true},
      {row(Verdict::inconclusive, 0.97, 0.94, 1.01), "slower:5%", false},
      {row(Verdict::inconclusive, 0.97, 0.94, 1.01, "byte/s"), "slower:5%", true},
      {row(Verdict::inconclusive, 0.97, 0.94, 1.01, "byte/s"), "faster:5%", false},
      {row(Verdict::inconclusive, 0.97, 0.90, 1.09, "byte"), "slower:5%", false},
      {row(Verdict::inconclusive, 0.97, 0.90, 1.09, "byte"), "higher:5%", true},
      {row(Verdict::inconclusive, none, none, none), "slower:5%", true},
      {row(Verdict::not_compared, none, none, none), "slower:5%", false},
      {row(Verdict::inconclusive, 1, 0.5, 2), "inconclusive", false},
  };
  for (const Undecided& one : all) {
    EXPECT_EQ(is_undecided(one.row, gate(one.gate), {}), one.expected)
        << one.gate << " of " << one.row.judgement.interval.low << " to "
        << one.row.judgement.interval.high << " " << one.row.unit;
  }
}

Comparison of_rows(std::vector<Row> rows) {
  Comparison comparison;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].parameters["seq_len"] = static_cast<std::int64_t>(i + 1);
  }
  comparison.rows = std::move(rows);
  return comparison;
}

TEST(Gates, DoNotPassInSilenceWhereTheyAreUndecided) {
  const Comparison comparison =
      of_rows({row(Verdict::same, 1, 0.995, 1.005), row(Verdict::inconclusive, 1.04, 0.98, 1.1),
               row(Verdict::inconclusive, 1.04, 0.98, 1.1)});
  const auto told = apply(parse_gates({"slower:5%"}).value(), comparison);
  EXPECT_FALSE(told.fails);
  EXPECT_THAT(told.lines,
              ElementsAre("--fail-on slower:5%: UNDECIDED for 2 of 3 (seq_len 2, forward; seq_len "
                          "3, forward): the interval reaches 5 % slower, or is unknown; more "
                          "interleaved runs a side (tools/alternate) would decide it"));
  EXPECT_TRUE(apply(parse_gates({"slower:5%,undecided"}).value(), comparison).fails);
  const auto decided = apply(parse_gates({"slower:11%,undecided"}).value(), comparison);
  EXPECT_FALSE(decided.fails);
  EXPECT_THAT(decided.lines, IsEmpty());
}

TEST(Gates, OfWhichNoneCanEverBeMetFail) {
  const Row time = row(Verdict::same, 1, 0.995, 1.005);
  const Comparison times = of_rows({time});
  const auto vain = apply(parse_gates({"higher:5%,lower"}).value(), times);
  EXPECT_TRUE(vain.fails);
  EXPECT_THAT(vain.lines, ElementsAre(HasSubstr("--fail-on higher:5%,lower: no result compared")));
  EXPECT_FALSE(apply(parse_gates({"higher:5%,slower"}).value(), times).fails);
  EXPECT_FALSE(apply(parse_gates({"not-compared"}).value(), times).fails);
  const Comparison with_memory = of_rows({time, row(Verdict::same, 1, 1, 1, "byte")});
  EXPECT_FALSE(apply(parse_gates({"higher:5%"}).value(), with_memory).fails);
}

TEST(Gates, TellWhatTheyMeetBesideWhatTheyCannotDecide) {
  const Comparison comparison =
      of_rows({row(Verdict::slower, 1.2, 1.19, 1.21), row(Verdict::inconclusive, 1.04, 0.98, 1.1)});
  const auto found = apply(parse_gates({"slower:5%"}).value(), comparison);
  EXPECT_TRUE(found.fails);
  EXPECT_THAT(found.lines, ElementsAre("--fail-on: 1 of 2 slower by 5 %",
                                       HasSubstr("UNDECIDED for 1 of 2 (seq_len 2, forward)")));
}

}  // namespace
}  // namespace assay::compare
