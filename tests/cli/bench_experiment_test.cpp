#include "cli/bench/bench_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/planned.h"
#include "config/test_catalogue.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

Context context() {
  Context context;
  context.installation.data = ASSAY_SOURCE_DIR;
  context.catalogue = *config::test_environment().catalogue;
  return context;
}

Result<std::string> experiment(const BenchRequest& request) {
  const Context here = context();
  return bench_experiment(here.catalogue, here.environment(), request);
}

Planned planned(const BenchRequest& request) {
  const Context here = context();
  const auto text = experiment(request);
  if (!text) throw std::runtime_error(text.error().text());
  auto plan = plan_text(here, *text, "bench.yaml", here.environment(), {});
  if (!plan) throw std::runtime_error(plan.error().text() + "\n" + *text);
  return std::move(*plan);
}

std::string refusal(const BenchRequest& request) {
  const auto text = experiment(request);
  return text ? "" : text.error().text();
}

BenchRequest attention() {
  BenchRequest request;
  request.kind = "attention";
  request.variants = {"naive", "flash"};
  return request;
}

TEST(BenchExperiment, MeasuresVariantsInTurnsToATargetInSeveralProcesses) {
  BenchRequest request = attention();
  request.parameters = {{"seq_len", "[1024, 4096]"}, {"precision", "bf16"}};
  const Planned plan = planned(request);
  EXPECT_EQ(plan.experiment.workload, "attention");
  ASSERT_EQ(plan.plan.size(), 12u) << "3 processes, 2 lengths, 2 variants";
  EXPECT_EQ(to_text(plan.plan.get(0, "precision")), "bf16");
  EXPECT_EQ(to_text(plan.plan.get(0, "measure.interleave")), "attention");
  EXPECT_EQ(to_text(plan.plan.get(0, "measure.isolation")), "case");
  EXPECT_EQ(to_text(plan.plan.get(0, "measure.target")), "0.01");
  EXPECT_EQ(to_text(plan.plan.get(11, "repeat")), "2");
  EXPECT_EQ(to_text(plan.plan.get(11, "attention")), "flash");
}

TEST(BenchExperiment, KnowsSettingsAndOptionsByTheirShortNames) {
  BenchRequest request = attention();
  request.variants = {"naive", "tiled"};
  request.runs = 1;
  request.parameters = {{"block_m", "[16, 32]"}, {"samples", "7"}, {"passes", "[forward]"}};
  const Planned plan = planned(request);
  ASSERT_EQ(plan.plan.size(), 3u) << "naive, and tiled twice";
  EXPECT_EQ(to_text(plan.plan.get(2, "attention.block_m")), "32");
  EXPECT_EQ(to_text(plan.plan.get(0, "measure.samples")), "7");
  EXPECT_EQ(to_text(plan.plan.get(0, "measure.target")), "0")
      << "a number of samples has no target";
  EXPECT_EQ(plan.experiment.passes, (std::vector<std::string>{"forward"}));
}

TEST(BenchExperiment, TheCommandsOwnValuesWinOverSet) {
  BenchRequest request = attention();
  request.runs = 1;
  request.parameters = {{"seq_len", "64"}};
  request.settings = {{"seq_len", "128"}, {"batch", "2"}, {"attention", "[naive]"}};
  const Planned plan = planned(request);
  ASSERT_EQ(plan.plan.size(), 2u);
  EXPECT_EQ(to_text(plan.plan.get(0, "seq_len")), "64");
  EXPECT_EQ(to_text(plan.plan.get(0, "batch")), "2");
}

TEST(BenchExperiment, MeasuresOtherKindsInAModel) {
  BenchRequest request;
  request.kind = "compile";
  request.variants = {"eager"};
  EXPECT_EQ(planned(request).experiment.workload, "model_step");
}

TEST(BenchExperiment, NamesTheNearestSpelling) {
  BenchRequest request = attention();
  request.variants = {"naive", "falsh"};
  EXPECT_THAT(refusal(request), HasSubstr("there is no attention 'falsh'; did you mean 'flash'?"));
  request = attention();
  request.parameters = {{"sq_len", "8"}};
  EXPECT_THAT(refusal(request), HasSubstr("--sq_len: unknown name 'sq_len'; did you mean"));
  request = attention();
  request.kind = "atention";
  EXPECT_THAT(refusal(request), HasSubstr("did you mean 'attention'?"));
  request = attention();
  request.variants = {};
  EXPECT_THAT(refusal(request), HasSubstr("no attention is named"));
  request = attention();
  request.workload = "norm";
  EXPECT_THAT(refusal(request), HasSubstr("the workload norm has no attention"));
}

}  // namespace
}  // namespace assay::cli
