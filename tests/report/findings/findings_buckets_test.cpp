// The best bucket of gradients from what all_reduces cost, with values worked out by hand.

#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::markdown;
using testing_support::markdown_of;
using testing_support::run_of;

// 500 MB of gradients.
std::string steps(const std::string& of_case, const std::string& times_of_5_25_100_mb) {
  std::string csv =
      "workload,backend,world_size,communication.bucket_size,pass,part,time.samples "
      "[ms],sent_bytes.samples [byte]\n";
  const auto times = split(times_of_5_25_100_mb, ',');
  const char* const sizes[] = {"5000000", "25000000", "100000000"};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string begin = "model_step," + of_case + "," + sizes[i] + ",train_step,";
    csv += begin + "," + times[i] + ",\n" + begin + "all_reduce,,500000000\n";
  }
  return csv;
}

constexpr const char* of_collectives =
    "workload,backend,world_size,layer,size,pass,rank,time.samples [us]\n";

// 20 µs and 100 GB/s: √(500 MB · 20 µs · 100 GB/s) is 31.6 MB.
const std::string over_nccl =
    "collective,nccl,2,c10d,1000000,all_reduce,0,30 30 30\n"
    "collective,nccl,2,c10d,10000000,all_reduce,0,120 120 120\n"
    "collective,nccl,2,c10d,100000000,all_reduce,0,1020 1020 1020\n";

std::string finding(const std::string& step_csv, const std::string& collective_rows) {
  const store::Run run = run_of(step_csv, "bucket_sizes-1");
  const store::Run collectives = run_of(of_collectives + collective_rows, "collectives-1");
  return markdown_of({&run, &collectives},
                     "- findings: [{buckets: {where: {workload: model_step}}}]");
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Buckets, TheBestOneByTheAllReducesOfTheReportBesideTheFastest) {
  expect_contains(finding(steps("nccl,2", "40 40,30 30,35 35"), over_nccl),
                  ": an all_reduce costs 20 µs and 100 GB/s (within 0 % over 3 sizes of "
                  "collectives-1), so that for 476.84 MiB buckets of 30.16 MiB are best; measured, "
                  "23.84 MiB are.\n");
}

TEST(Buckets, WhatTheNearestSizeTakesWhereAnotherIsFastest) {
  expect_contains(finding(steps("nccl,2", "30 30,33 33,45 45"), over_nccl),
                  "buckets of 30.16 MiB are best; measured, 4.77 MiB are; of the sizes measured "
                  "23.84 MiB is the nearest to it, and takes 1.1× as long.\n");
}

// 30 and 32 ms, each with a standard error of 0.82 ms: 2 ms is less than 2 · √2 · 0.82 ms.
TEST(Buckets, NamesTheSizesWithinTheNoise) {
  expect_contains(finding(steps("nccl,2", "28 30 30 32,30 32 32 34,45 45 45 45"), over_nccl),
                  "measured, 4.77 MiB are, and within the noise 23.84 MiB;");
}

TEST(Buckets, OnlyAllReducesOfTheSameBackendAndRanksCount) {
  const std::string of_four =
      "collective,nccl,4,c10d,1000000,all_reduce,0,30\n"
      "collective,nccl,4,c10d,10000000,all_reduce,0,120\n"
      "collective,nccl,4,c10d,100000000,all_reduce,0,1020\n";
  const std::string gathers =
      "collective,gloo,2,c10d,1000000,all_gather,0,30\n"
      "collective,gloo,2,c10d,10000000,all_gather,0,120\n"
      "collective,gloo,2,c10d,100000000,all_gather,0,1020\n";
  const std::string none =
      ": no all_reduce of its backend and ranks is known (`assay calibrate all_reduce` measures "
      "some), so that none is predicted; measured, 23.84 MiB are.\n";
  expect_contains(finding(steps("nccl,2", "40,30,35"), of_four), none);
  expect_contains(finding(steps("gloo,2", "40,30,35"), over_nccl + gathers), none);
}

TEST(Buckets, AllReducesOfAnotherMachineDoNotCount) {
  const store::Run run = run_of(steps("nccl,2", "40,30,35"), "bucket_sizes-1");
  store::Run collectives = run_of(of_collectives + over_nccl, "collectives-1");
  collectives.info.first.machine = {{"host", "another"}};
  expect_contains(
      markdown_of({&run, &collectives}, "- findings: [{buckets: {where: {workload: model_step}}}]"),
      ": no all_reduce of its backend and ranks is known");
}

// Training's calls go through c10d's own stream; the slowest rank counts: 40 µs and 100 GB/s make
// 44.7 MB.
TEST(Buckets, TakeTheLayerThatTrainingUsesAndTheSlowestRank) {
  std::string async;
  for (const auto& [size, fast, slow] : {std::tuple("1000000", "45", "50"),
                                         {"10000000", "135", "140"},
                                         {"100000000", "900", "1040"}}) {
    const std::string begin = std::string("collective,nccl,2,c10d_async,") + size + ",all_reduce,";
    async += begin + "0," + fast + "\n" + begin + "1," + slow + "\n";
  }
  expect_contains(
      finding(steps("nccl,2", "40,30,35"), over_nccl + async),
      "costs 40 µs and 100 GB/s (within 0 % over 3 sizes of collectives-1), so that for "
      "476.84 MiB buckets of 42.65 MiB are best;");
}

TEST(Buckets, TwoSizesOfAllReducesTellNoCost) {
  expect_contains(finding(steps("nccl,2", "40,30,35"),
                          "collective,nccl,2,c10d,1000000,all_reduce,0,30\n"
                          "collective,nccl,2,c10d,10000000,all_reduce,0,120\n"),
                  ": the all_reduces of collectives-1 do not tell what a call and a byte cost, so "
                  "that none is predicted; measured, 23.84 MiB are.\n");
}

std::string with_calibration(const std::vector<store::Run>& calibrations,
                             const std::vector<store::Run>& preferred) {
  const store::Run run = run_of(steps("nccl,2", "40 40,30 30,35 35"), "bucket_sizes-1");
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  inputs.spec = *yaml::parse("- findings: [buckets]", "spec.yaml");
  inputs.ceilings = [&](const store::Run&) {
    Ceilings ceilings;
    for (const store::Run& calibration : calibrations) ceilings.add(calibration);
    for (const store::Run& other : preferred) ceilings.prefer_all_reduces_of(other);
    return Result<Ceilings>(std::move(ceilings));
  };
  const auto document = build(inputs);
  return document ? *to_markdown(*document) : "ERROR " + document.error().text();
}

TEST(Buckets, WithoutAllReducesOfTheirOwnTakeTheMachines) {
  const store::Run calibration = run_of(of_collectives + over_nccl, "calibrate_all_reduce-1");
  expect_contains(with_calibration({calibration}, {}),
                  "**Best bucket, every case**: an all_reduce costs 20 µs and 100 GB/s (within 0 % "
                  "over 3 sizes of calibrate_all_reduce-1)");
}

TEST(Buckets, TheAllReducesOfTheSuiteComeFirst) {
  const store::Run calibration = run_of(of_collectives + over_nccl, "calibrate_all_reduce-1");
  const store::Run suite =
      run_of(of_collectives + std::string("collective,nccl,2,c10d,1000,all_reduce,0,11\n"
                                          "collective,nccl,2,c10d,10000,all_reduce,0,20\n"
                                          "collective,nccl,2,c10d,90000,all_reduce,0,100\n"),
             "writeup-1");
  expect_contains(with_calibration({calibration}, {suite}),
                  "costs 10 µs and 1 GB/s (within 0 % over 3 sizes of writeup-1)");
}

TEST(Buckets, NothingFromTwoSizes) {
  EXPECT_EQ(markdown("communication.bucket_size,pass,time.mean [ms]\n5000000,train_step,40\n"
                     "10000000,train_step,30\n",
                     "- findings: [buckets]"),
            "The results support none of the requested findings.\n");
}

}  // namespace
}  // namespace assay::report
