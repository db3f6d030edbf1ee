#include "worker/pass/overlap.h"

#include <gtest/gtest.h>

#include <map>

namespace assay::worker {
namespace {

std::map<std::string, double> overlap(const std::vector<measure::TracedSpan>& spans) {
  std::vector<store::Series> series;
  add_overlap("train_step", spans, series);
  std::map<std::string, double> values;
  for (const store::Series& each : series) {
    EXPECT_EQ(each.pass, "train_step");
    EXPECT_EQ(each.part, "world");
    values[each.metric] = each.samples.at(0);
  }
  return values;
}

// Collectives from 1 s to 4 s, two of them at once for a while, and from 6 s to 7 s. The step waits
// for them from 3 s to 4 s.
TEST(Overlap, IsTheTimeOfCollectivesThatNobodyWaitsFor) {
  const auto values = overlap({{"backward", "phases", 0, 5},
                               {"all_reduce", "world", 2, 2},
                               {"all_reduce", "world", 1, 2},
                               {"all_gather", "world", 6, 1},
                               {"wait", "world waits", 3, 1}});
  EXPECT_DOUBLE_EQ(values.at("communication_time"), 4);
  EXPECT_DOUBLE_EQ(values.at("exposed_communication"), 1);
  EXPECT_DOUBLE_EQ(values.at("hidden_communication"), 0.75);
}

TEST(Overlap, IsUnknownWhereNobodyWaitsForACollective) {
  EXPECT_TRUE(overlap({{"all_reduce", "world", 2, 2}, {"forward", "phases", 0, 2}}).empty());
  EXPECT_TRUE(overlap({}).empty());
}

}  // namespace
}  // namespace assay::worker
