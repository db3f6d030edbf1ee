#include "cli/time_by_counts.h"

#include <gtest/gtest.h>

#include "cli/suite_outlook.h"
#include "config/shipped_catalogue.h"
#include "store/exchange/import.h"
#include "store/temporary_folder.h"

namespace assay::cli {
namespace {

// 1 TFLOP/s in fp32 and 100 GB/s.
report::Ceilings measured_ceilings() {
  report::Ceilings ceilings;
  for (const char* text :
       {"workload,device,dtype,m,pass,time.samples [ms],flops.value [GFLOP]\n"
        "matmul,cpu,fp32,1000,matmul,2,2\n",
        "workload,device,size,pass,time.samples [ms],bytes.value [GB]\ncopy,cpu,1,copy,10,1\n"}) {
    const auto run = store::import_text(text, "calibration.csv");
    EXPECT_TRUE(run) << run.error().text();
    if (run) ceilings.add(*run);
  }
  return ceilings;
}

run::ResolvedCase attention_case(const std::vector<std::string>& passes) {
  run::ResolvedCase resolved;
  resolved.request.parameters = {{"workload", Value(std::string("attention"))},
                                 {"device", Value(std::string("cpu"))},
                                 {"precision", Value(std::string("fp32"))},
                                 {"batch", Value(std::int64_t{1})},
                                 {"heads", Value(std::int64_t{1})},
                                 {"seq_len", Value(std::int64_t{10000})},
                                 {"d_head", Value(std::int64_t{50})},
                                 {"causal", Value(false)},
                                 {"measure.warmup", Value(std::int64_t{5})},
                                 {"measure.samples", Value(std::int64_t{10})}};
  resolved.request.passes = passes;
  return resolved;
}

// 4 · 10^8 pairs · 50 = 2·10^10 operations, 20 ms at 1 TFLOP/s; 4 tensors of 2 MB take 0.08 ms.
TEST(TimeByCounts, IsEachCallsLongestCountOverItsCeilingAndWhatACaseTakesBesides) {
  const TimeByCounts times(config::shipped_catalogue(), measured_ceilings(), 1.5);
  const auto forward = times.seconds(attention_case({"forward"}));
  ASSERT_TRUE(forward);
  EXPECT_NEAR(*forward, 1.5 + 15 * 0.020, 1e-9);
  // Each backward follows an untimed forward: 70 ms.
  EXPECT_NEAR(*times.seconds(attention_case({"forward", "backward"})), 1.5 + 15 * 0.090, 1e-9);
  run::ResolvedCase target = attention_case({"forward"});
  target.request.parameters["measure.target"] = Value(0.01);
  target.request.parameters["measure.min_samples"] = Value(std::int64_t{20});
  EXPECT_NEAR(*times.seconds(target), 1.5 + 25 * 0.020, 1e-9);
  target.time_limit_s = 1.75;
  EXPECT_EQ(times.seconds(target), 1.75) << "it is stopped then";
}

TEST(TimeByCounts, IsUnknownWithoutACeilingOrAFormulaAndOfSkippedCases) {
  const TimeByCounts times(config::shipped_catalogue(), measured_ceilings(), 1.5);
  run::ResolvedCase other = attention_case({"forward"});
  other.request.parameters["precision"] = Value(std::string("bf16"));
  EXPECT_FALSE(times.seconds(other)) << "no rate in bf16 was measured";
  other = attention_case({"forward"});
  other.request.parameters["device"] = Value(std::string("cuda"));
  EXPECT_FALSE(times.seconds(other));
  other = attention_case({"forward"});
  other.request.parameters["workload"] = Value(std::string("number_formats"));
  EXPECT_FALSE(times.seconds(other));
  other = attention_case({"forward"});
  other.skipped = "no GPU";
  EXPECT_FALSE(times.seconds(other));
}

// 2 s, of which 15 calls of 10 ms.
TEST(TimeByCounts, KnowsWhatCasesTakeBesideTheirCalls) {
  store::Run run;
  store::CaseResult result;
  result.parameters = {{"measure.warmup", Value(std::int64_t{5})},
                       {"measure.samples", Value(std::int64_t{10})}};
  result.wall_s = 2;
  store::Series series;
  series.pass = "forward";
  series.metric = "time";
  series.unit = "s";
  series.samples.assign(10, 0.01);
  result.series.push_back(series);
  run.cases.push_back(result);
  EXPECT_NEAR(seconds_beside_calls(run), 1.85, 1e-9);
  run.cases.front().outcome = Outcome::oom;
  EXPECT_EQ(seconds_beside_calls(run), 0);
}

class StoredCalibration : public store::testing::TemporaryFolder {};

// 40 calls of a norm that moves 2 GB, at 100 GB/s. The newest run took 0.5 s beside its calls.
TEST_F(StoredCalibration, GivesTheLeastTimesOfItsMachine) {
  auto database = store::Database::open(file("assay.db"), store::Access::read_write);
  ASSERT_TRUE(database);
  const nlohmann::json machine = {{"host", "lab1"}};
  const auto none = time_by_counts(config::shipped_catalogue(), *database, machine);
  EXPECT_FALSE(none) << "nothing was calibrated";
  auto run = store::import_text(
      "workload,device,size,pass,time.samples [ms],bytes.value [GB]\ncopy,cpu,1,copy,10,1\n",
      "copy.csv");
  ASSERT_TRUE(run);
  run->info.name = "calibrate_copy-1";
  run->info.experiment = "calibrate_copy";
  run->info.started = "2026-01-01T00:00:00Z";
  run->info.first.machine = machine;
  run->cases.front().wall_s = 0.51;
  ASSERT_TRUE(database->add_run(*run));
  const auto times = time_by_counts(config::shipped_catalogue(), *database, machine);
  ASSERT_TRUE(times);
  run::ResolvedCase norm;
  norm.request.parameters = {
      {"workload", Value(std::string("norm"))},  {"device", Value(std::string("cpu"))},
      {"precision", Value(std::string("fp32"))}, {"rows", Value(std::int64_t{250000})},
      {"n_cols", Value(std::int64_t{1000})},     {"measure.samples", Value(std::int64_t{40})}};
  norm.request.passes = {"forward"};
  EXPECT_NEAR(times->seconds(norm).value_or(0), 0.5 + 40 * 0.020, 1e-9);
  const auto elsewhere = time_by_counts(config::shipped_catalogue(), *database, {{"host", "lab2"}});
  EXPECT_FALSE(elsewhere);
}

TEST(TimeEstimate, SaysWhatEachPartComesFrom) {
  EXPECT_EQ((TimeEstimate{5, 0, 0, 0, 0}.text()),
            "estimated time: unknown, no earlier run measured any of 5 cases\n");
  EXPECT_EQ((TimeEstimate{5, 2, 0, 0, 90}.text()),
            "estimated time: 1 min 30 s for 2 cases that earlier runs measured; 3 cases are "
            "unknown\n");
  EXPECT_EQ((TimeEstimate{5, 2, 1, 0, 90}.text()),
            "estimated time: about 1 min 30 s: 1 case was measured earlier with other settings, 2 "
            "with these; 2 cases are unknown\n");
  EXPECT_EQ((TimeEstimate{5, 2, 0, 3, 90}.text()),
            "estimated time: at least 1 min 30 s: 2 cases were measured earlier, 3 cases take at "
            "least what counts over this machine's ceilings say\n");
}

}  // namespace
}  // namespace assay::cli
