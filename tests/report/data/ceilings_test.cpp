#include "report/data/ceilings.h"

#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::run_of;

// The best bf16 case is marked: the GPU was throttled.
store::Run throttled_calibration(bool discarded) {
  // 2 GFLOP in 4 ms and 16 in 4: 0.5 and 4 TFLOP/s.
  store::Run run = run_of(
      "workload,device,dtype,m,pass,time.samples [ms],flops.value [GFLOP]\n"
      "matmul,cuda,bf16,1000,matmul,3 4 9,2\nmatmul,cuda,bf16,2000,matmul,4 4 4,16\n",
      "calibrate_matmul-1");
  run.cases.at(1).facts.marks = {{"throttled", "", "a power limit"}};
  if (discarded) run.cases.at(1).facts.discarded = {{"matmul", "throttled"}};
  for (store::Series& series : run.cases.at(1).series) {
    if (series.metric == "time") series.clock = "cuda_event";
  }
  return run;
}

TEST(CeilingsOfMarkedRuns, WhatWasDiscardedIsNone) {
  Ceilings ceilings;
  ceilings.add(throttled_calibration(true));
  ASSERT_NE(ceilings.find("matmul_bf16", {}), nullptr);
  EXPECT_DOUBLE_EQ(ceilings.find("matmul_bf16", {})->value, 5e11);
  EXPECT_EQ(ceilings.find("matmul_bf16", {})->formula, "flops / median time");
}

TEST(CeilingsOfMarkedRuns, WhatWasMarkedSaysSo) {
  Ceilings ceilings;
  ceilings.add(throttled_calibration(false));
  ASSERT_NE(ceilings.find("matmul_bf16", {}), nullptr);
  EXPECT_DOUBLE_EQ(ceilings.find("matmul_bf16", {})->value, 4e12);
  EXPECT_EQ(ceilings.find("matmul_bf16", {})->formula,
            "flops / median time, best of 2: m 2000; measured while throttled");
}

}  // namespace
}  // namespace assay::report
