#include <gtest/gtest.h>

#include "cli/suite_outlook.h"

namespace assay::cli {
namespace {

using store::Parameters;

Parameters with(std::int64_t seq_len, std::int64_t warmup, std::int64_t samples) {
  return {{"seq_len", Value(seq_len)},
          {"measure.warmup", Value(warmup)},
          {"measure.samples", Value(samples)}};
}

// A run of one case: 15 calls of 10 ms a pass, two passes, 2 s in all.
store::Run earlier() {
  store::Run run;
  store::CaseResult result;
  result.parameters = with(64, 5, 10);
  result.wall_s = 2;
  for (const char* pass : {"forward", "backward"}) {
    store::Series series;
    series.pass = pass;
    series.metric = "time";
    series.unit = "s";
    series.samples.assign(10, 0.01);
    result.series.push_back(series);
  }
  run.cases.push_back(result);
  return run;
}

TEST(TimeEstimate, AddsTheCallsThatOtherSettingsAskFor) {
  EXPECT_NEAR(*seconds_by_similar(earlier(), with(64, 5, 10)), 2, 1e-9);
  // 100 samples more in each of two passes.
  EXPECT_NEAR(*seconds_by_similar(earlier(), with(64, 5, 110)), 4, 1e-9);
  EXPECT_NEAR(*seconds_by_similar(earlier(), with(64, 0, 10)), 1.9, 1e-9);
  Parameters target = with(64, 5, 10);
  target["measure.target"] = Value(0.01);
  EXPECT_NEAR(*seconds_by_similar(earlier(), target), 2, 1e-9);
}

TEST(TimeEstimate, IsUnknownForAnotherCaseAndAFailedOne) {
  EXPECT_FALSE(seconds_by_similar(earlier(), with(128, 5, 10)));
  store::Run failed = earlier();
  failed.cases[0].outcome = Outcome::oom;
  EXPECT_FALSE(seconds_by_similar(failed, with(64, 5, 10)));
}

}  // namespace
}  // namespace assay::cli
