#include "run/workers/case_sense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::run {
namespace {

using ::testing::HasSubstr;

// A case of two ranks and one pass of three samples, as its workers tell it.
class CaseSense : public ::testing::Test {
 protected:
  CaseSense() {
    request_.passes = {"forward"};
    request_.parameters = {{"measure.samples", std::int64_t{3}},
                           {"measure.target", std::int64_t{0}}};
    for (const int rank : {0, 1}) {
      add("time", rank, {1e-3, 2e-3, 3e-3}, "wall");
      for (const char* metric : {"first_call_time", "memory_before", "peak_memory"}) {
        add(metric, rank, {1});
      }
    }
    end_.facts.timing["forward"].samples = 3;
    end_.facts.verification["forward"].repeated.looks = 2;
  }

  void add(const std::string& metric, int rank, std::vector<double> samples,
           const std::string& clock = "") {
    store::Series series{.pass = "forward", .metric = metric, .rank = rank, .clock = clock};
    series.samples = std::move(samples);
    end_.series.push_back(std::move(series));
  }

  store::Series& time(int rank) { return end_.series[rank == 0 ? 0 : 4]; }

  std::string why(double worked_s = 1) const {
    return why_impossible(end_, {request_, unclocked_, 2, worked_s});
  }

  wire::CaseRequest request_;
  std::vector<std::string> unclocked_;
  CaseEnd end_;
};

TEST_F(CaseSense, WhatAnHonestWorkerTellsIsPossible) { EXPECT_EQ(why(), ""); }

TEST_F(CaseSense, ASecondTimeOfARankIsNot) {
  add("time", 1, {1e-9, 1e-9, 1e-9}, "wall");
  EXPECT_EQ(why(), "'time' of forward came 2 times from rank 1");
}

TEST_F(CaseSense, APassWithoutATimeIsNot) {
  end_.series.erase(end_.series.begin() + 4);
  EXPECT_EQ(why(), "'time' of forward came never from rank 1");
}

TEST_F(CaseSense, ButAPassWithoutAClockIs) {
  end_.series.clear();
  unclocked_ = {"forward"};
  EXPECT_EQ(why(), "");
}

TEST_F(CaseSense, PhasesAreNoSecondTime) {
  add("time", 0, {1e-4, 1e-4, 1e-4}, "wall");
  end_.series.back().part = "optimizer";
  EXPECT_EQ(why(), "");
}

TEST_F(CaseSense, APassThatNobodyAskedForIsNot) {
  add("time", 0, {1e-9}, "wall");
  end_.series.back().pass = "backward";
  EXPECT_EQ(why(), "'time' came of backward, which nobody asked for");
}

TEST_F(CaseSense, AnotherNumberOfSamplesIsNot) {
  time(0).samples = {1e-3};
  EXPECT_EQ(why(), "forward has 1 sample of 3 asked for");
  request_.parameters["measure.target"] = 0.01;
  request_.parameters["measure.max_samples"] = std::int64_t{5};
  time(1).samples = {1e-3, 1e-3};
  end_.facts.timing["forward"].samples = 1;
  EXPECT_EQ(why(), "") << "a target ends it sooner";
  time(1).samples.assign(6, 1e-3);
  EXPECT_THAT(why(), HasSubstr("6 samples of 5"));
}

TEST_F(CaseSense, ATimeThatIsNoNumberIsNot) {
  time(1).samples[1] = std::nan("");
  EXPECT_THAT(why(), HasSubstr("no number of seconds"));
}

TEST_F(CaseSense, SamplesLongerThanTheWholeCaseAreNot) {
  EXPECT_EQ(why(6.1e-3), "");
  EXPECT_THAT(why(5e-3), HasSubstr("the samples of rank 0 are 6 ms together"));
}

TEST_F(CaseSense, TimesWithoutAWordOnHowTheyWereTakenAreNot) {
  end_.facts.timing.clear();
  EXPECT_THAT(why(), HasSubstr("nothing is told of how the 3 samples"));
}

TEST_F(CaseSense, NorAreThoseWhoseOutputsNobodyLookedAt) {
  end_.facts.verification.clear();
  EXPECT_EQ(why(), "nothing is told of the outputs of forward");
}

TEST_F(CaseSense, ARefusedCaseHasNoNumbers) {
  refuse(end_, {"forward"}, Outcome::error, "no sense");
  EXPECT_EQ(end_.outcome, Outcome::error);
  ASSERT_EQ(end_.series.size(), 1u);
  EXPECT_EQ(end_.series[0].outcome, Outcome::error);
  EXPECT_EQ(end_.series[0].reason, "no sense");
  EXPECT_TRUE(end_.series[0].samples.empty());
  EXPECT_FALSE(end_.reusable);
}

}  // namespace
}  // namespace assay::run
