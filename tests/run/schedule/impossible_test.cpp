#include "run/schedule/impossible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace assay::run {
namespace {

using ::testing::HasSubstr;

// A machine that copies 1 TB/s and multiplies at 100 TFLOP/s.
const std::vector<DeviceCeilings> ceilings = {{"cuda", 1e12, 1e14, "calibrate_copy-1"},
                                              {"cpu", 1e10, 1e11, "calibrate_copy-1"}};

// One pass of three equal samples that counts 8 GB or 1 TFLOP.
store::CaseResult timed(double s, const char* count, const std::string& device = "cuda") {
  store::CaseResult result;
  result.parameters = {
      {"device", device}, {"workload", std::string("norm")}, {"precision", std::string("bf16")}};
  store::Series time{.pass = "forward", .metric = "time", .clock = "wall"};
  time.samples = {s, s, s};
  store::Series counted{.pass = "forward", .metric = count};
  counted.samples = {std::string(count) == "bytes" ? 8e9 : 1e12};
  result.series = {time, counted};
  auto& cache = result.facts.timing["forward"].cache;
  cache.policy = "warm";
  cache.cache_bytes = 50'000'000;
  return result;
}

bool is_impossible(store::CaseResult result) {
  mark_impossible(ceilings, result);
  if (result.facts.marks.empty()) return false;
  EXPECT_EQ(result.facts.marks[0].mark, "impossible");
  EXPECT_EQ(result.facts.marks[0].pass, "forward");
  EXPECT_EQ(result.facts.discarded.at("forward"), "impossible");
  return true;
}

// 8 GB at 1 TB/s take 8 ms; a tenth faster is let pass.
TEST(Impossible, IsATimeInWhichTheBytesCannotBeCopied) {
  EXPECT_FALSE(is_impossible(timed(8.0e-3, "bytes")));
  EXPECT_FALSE(is_impossible(timed(7.3e-3, "bytes")));
  EXPECT_TRUE(is_impossible(timed(7.2e-3, "bytes")));
}

TEST(Impossible, ButNotWhereTheCachesMayHoldThem) {
  store::CaseResult cached = timed(1e-3, "bytes");
  cached.facts.timing["forward"].cache.cache_bytes = 2'100'000'000;
  EXPECT_FALSE(is_impossible(cached));
  cached.facts.timing["forward"].cache.policy = "flush";
  EXPECT_FALSE(is_impossible(cached)) << "what it wrote may still be in the cache";
  cached.facts.timing["forward"].cache = {};
  EXPECT_FALSE(is_impossible(cached));
}

// A cache of 1 GB may keep as many of the 8 GB; the others take 7 ms, a tenth faster is let pass.
TEST(Impossible, AFlushedCacheMayKeepWhatItHolds) {
  for (const auto& [s, impossible] : {std::pair{6.4e-3, false}, std::pair{6.3e-3, true}}) {
    store::CaseResult result = timed(s, "bytes");
    result.facts.timing["forward"].cache.policy = "flush";
    result.facts.timing["forward"].cache.cache_bytes = 1'000'000'000;
    EXPECT_EQ(is_impossible(result), impossible) << s;
  }
}

TEST(Impossible, IsNoTimeAtAllForWhatCountsSomething) {
  store::CaseResult result = timed(0, "bytes");
  mark_impossible({}, result);
  ASSERT_EQ(result.facts.marks.size(), 1u);
  EXPECT_EQ(result.facts.marks[0].reason, "no call takes 0 s");
  store::CaseResult nothing = timed(0, "calls");
  mark_impossible({}, nothing);
  EXPECT_TRUE(nothing.facts.marks.empty());
}

// 1 TFLOP at 100 TFLOP/s takes 10 ms.
TEST(Impossible, IsATimeInWhichTheFlopsCannotBeDone) {
  EXPECT_FALSE(is_impossible(timed(9.2e-3, "flops")));
  EXPECT_TRUE(is_impossible(timed(9.0e-3, "flops")));
}

TEST(Impossible, NoFlopsAreInAPrecisionThatNoCalibrationMeasures) {
  store::CaseResult result = timed(9.0e-3, "flops");
  for (const char* precision : {"fp32", "tf32", "bf16_master", "fp16"}) {
    result.parameters["precision"] = std::string(precision);
    EXPECT_TRUE(is_impossible(result)) << precision;
  }
  result.parameters["precision"] = std::string("fp8");
  EXPECT_FALSE(is_impossible(result));
  result.parameters.erase("precision");
  EXPECT_FALSE(is_impossible(result));
}

TEST(Impossible, OfACpuTwoThirdsMoreAreLetPass) {
  // 8 GB at 10 GB/s take 0.8 s.
  EXPECT_FALSE(is_impossible(timed(0.49, "bytes", "cpu")));
  EXPECT_TRUE(is_impossible(timed(0.48, "bytes", "cpu")));
}

TEST(Impossible, ASampleOfSeveralCallsIsTheirSum) {
  store::CaseResult result = timed(20e-3, "flops");
  result.parameters["measure.calls_per_sample"] = std::int64_t{4};
  EXPECT_TRUE(is_impossible(result));
}

TEST(Impossible, ARankIsJudgedByItsOwnCounts) {
  store::CaseResult result = timed(12e-3, "flops");
  store::Series other = result.series[0];
  other.rank = 1;
  other.samples = {1e-3, 1e-3, 1e-3};
  result.series.push_back(other);
  EXPECT_FALSE(is_impossible(result)) << "rank 1 counts nothing";
  other = result.series[1];
  other.rank = 1;
  result.series.push_back(other);
  EXPECT_TRUE(is_impossible(result));
}

TEST(Impossible, NothingIsWhereTheCeilingIsNotKnownOrIsBeingMeasured) {
  store::CaseResult result = timed(1e-9, "flops", "tpu");
  EXPECT_FALSE(is_impossible(result));
  result = timed(1e-9, "flops");
  result.parameters["workload"] = std::string("matmul");
  EXPECT_FALSE(is_impossible(result));
  result = timed(1e-9, "flops");
  mark_impossible({{"cuda", 1e12, 0, ""}}, result);
  EXPECT_TRUE(result.facts.marks.empty());
}

TEST(Impossible, TheReasonNamesTheCeilingAndHowMuchIsLetPass) {
  store::CaseResult result = timed(1e-3, "bytes");
  mark_impossible(ceilings, result);
  ASSERT_EQ(result.facts.marks.size(), 1u);
  EXPECT_THAT(result.facts.marks[0].reason, HasSubstr("7.45 GiB at 931.32 GiB/s"));
  EXPECT_THAT(result.facts.marks[0].reason, HasSubstr("calibrate_copy-1"));
  EXPECT_THAT(result.facts.marks[0].reason, HasSubstr("even if 10 % faster"));
  result = timed(0.1, "bytes", "cpu");
  mark_impossible(ceilings, result);
  ASSERT_EQ(result.facts.marks.size(), 1u);
  EXPECT_THAT(result.facts.marks[0].reason, HasSubstr("even if 65 % faster"));
}

}  // namespace
}  // namespace assay::run
