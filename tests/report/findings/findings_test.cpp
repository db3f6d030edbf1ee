#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cmath>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::markdown;

const char* const nothing = "The results support none of the requested findings.\n";

TEST(Speedup, GeometricMeanRangeAndWhereTheSignChanges) {
  // Ratios naive / flash: 0.5, 2, 8: geometric mean 2.
  EXPECT_EQ(markdown("seq_len,attention,pass,time.mean [ms]\n"
                     "128,naive,forward,1\n128,flash,forward,2\n"
                     "256,naive,forward,4\n256,flash,forward,2\n"
                     "512,naive,forward,16\n512,flash,forward,2\n",
                     "- findings: [speedup]"),
            "- **flash is 2× faster than naive**, forward (2× slower to 8× faster in 3 cases; "
            "slower up to seq_len 128, faster from 256).\n"
            "\n"
            "<details>\n"
            "<summary>Details of the findings</summary>\n"
            "\n"
            "- **flash against naive, forward**: geometric mean of 3 pairs; 2× slower at seq_len "
            "128; 8× faster at seq_len 512.\n"
            "\n"
            "</details>\n");
}

TEST(Speedup, WithoutAClearTurnItCountsTheSlowerOnes) {
  const std::string text = markdown(
      "seq_len,attention,pass,time.mean [ms]\n"
      "128,naive,forward,4\n128,flash,forward,2\n"
      "256,naive,forward,1\n256,flash,forward,2\n"
      "512,naive,forward,4\n512,flash,forward,2\n",
      "- findings: [speedup]");
  EXPECT_NE(text.find("; slower in 1 of them)."), std::string::npos) << text;
}

TEST(Speedup, RoundsHaveNoOrderAlongWhichItTurns) {
  const std::string text = markdown(
      "repeat,attention,pass,time.mean [ms]\n0,naive,forward,4\n0,flash,forward,2\n"
      "1,naive,forward,2\n1,flash,forward,4\n",
      "- findings: [speedup]");
  EXPECT_NE(text.find("; slower in 1 of them)."), std::string::npos) << text;
}

TEST(Speedup, NothingWithinTheNoise) {
  // Means 1.00 and 1.01, standard errors 0.1 each.
  EXPECT_EQ(markdown("attention,pass,time.mean [ms],time.std "
                     "[ms],time.n\nnaive,forward,1,0.3,9\nflash,forward,1.01,0.3,9\n",
                     "- findings: [speedup]"),
            nothing);
}

TEST(Speedup, NothingWhereAVariantHasNoCounterpart) {
  EXPECT_EQ(
      markdown("seq_len,attention,pass,time.mean [ms]\n128,naive,forward,1\n256,flash,forward,2\n",
               "- findings: [speedup]"),
      nothing);
}

TEST(Speedup, OptionsOfTheVariantDoNotKeepPairsApart) {
  const std::string text = markdown(
      "attention,attention.block_m,pass,time.mean "
      "[ms]\nnaive,,forward,6\nflash,64,forward,3\nflash,128,forward,2\n",
      "- findings: [speedup]");
  EXPECT_NE(text.find("**flash (block_m 64) is 2× faster than naive**, forward."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("**flash (block_m 128) is 3× faster than naive**, forward."),
            std::string::npos)
      << text;
}

TEST(Speedup, AxisAndBaselineCanBeNamed) {
  const std::string text = markdown("model,pass,time.mean [ms]\nsmall,forward,1\nxl,forward,4\n",
                                    "- findings: [{speedup: {axis: model, baseline: xl}}]");
  EXPECT_NE(text.find("**small is 4× faster than xl**, forward."), std::string::npos) << text;
}

// "model,precision,pass,time.mean [ms],…" with the standard error in ms.
std::string with_errors(const std::string& axes, const std::vector<std::string>& places_and_means,
                        double error = 1e-3) {
  std::string csv = axes + ",pass,time.mean [ms],time.std [ms],time.n\n";
  for (const std::string& line : places_and_means) {
    const std::size_t comma = line.rfind(',');
    csv += fmt::format("{},forward,{},{},9\n", line.substr(0, comma), line.substr(comma + 1),
                       3 * error);
  }
  return csv;
}

TEST(Speedup, ByAnAxisEachOfItsValuesIsTold) {
  // fp32 / bf16: small 2 and 0.5, geometric mean 1; large 4; xl 8.
  const std::string spec = "- findings: [{speedup: {axis: precision, by: model}}]";
  const std::vector<std::string> figures = {
      "small,128,fp32,2", "small,128,bf16,1", "small,256,fp32,1", "small,256,bf16,2",
      "large,128,fp32,8", "large,128,bf16,2", "large,256,fp32,8", "large,256,bf16,2",
      "xl,128,fp32,16",   "xl,128,bf16,2",    "xl,256,fp32,16",   "xl,256,bf16,2"};
  const std::string text = markdown(with_errors("model,seq_len,precision", figures), spec);
  EXPECT_NE(text.find("; by model: small 1×, large 4×, xl 8×, rising.\n"), std::string::npos)
      << text;
  // The largest lacks a case, so the gains are of different cases.
  const std::string less =
      markdown(with_errors("model,seq_len,precision", {figures.begin(), figures.end() - 2}), spec);
  EXPECT_NE(less.find("; by model: small 1×, large 4×, xl 8×.\n"), std::string::npos) << less;
}

TEST(Speedup, WithAnAxisThatIsTiedToIt) {
  const std::string csv = with_errors("compile,attention", {"eager,a,4", "graph,a,2", "graph,b,1"});
  const std::string alone = markdown(csv, "- findings: [{speedup: {axis: compile}}]");
  EXPECT_NE(alone.find("**graph is 2× faster than eager**"), std::string::npos) << alone;
  EXPECT_EQ(alone.find("4× faster"), std::string::npos) << alone;
  const std::string with =
      markdown(csv, "- findings: [{speedup: {axis: compile, with: attention}}]");
  EXPECT_NE(with.find("**graph (attention a) is 2× faster than eager**"), std::string::npos)
      << with;
  EXPECT_NE(with.find("**graph (attention b) is 4× faster than eager**"), std::string::npos)
      << with;
}

TEST(Speedup, ByAnAxisOfTwoValuesThereIsNoTrend) {
  std::vector<std::string> figures = {"128,naive,4", "128,flash,2", "256,naive,3", "256,flash,1"};
  const std::string spec = "- findings: [{speedup: {axis: attention, by: seq_len}}]";
  const std::string two = markdown(with_errors("seq_len,attention", figures), spec);
  EXPECT_NE(two.find("; by seq_len: 128 2×, 256 3×.\n"), std::string::npos) << two;
  figures.insert(figures.end(), {"512,naive,2", "512,flash,1"});
  const std::string three = markdown(with_errors("seq_len,attention", figures), spec);
  EXPECT_NE(three.find("; by seq_len: 128 2×, 256 3×, 512 2×.\n"), std::string::npos) << three;
}

TEST(Speedup, ByANumberTheValuesAreInItsOrder) {
  const std::string text =
      markdown(with_errors("seq_len,attention", {"512,naive,8", "512,flash,1", "128,naive,2",
                                                 "128,flash,1", "256,naive,4", "256,flash,1"}),
               "- findings: [{speedup: {axis: attention, by: seq_len}}]");
  EXPECT_NE(text.find("; by seq_len: 128 2×, 256 4×, 512 8×, rising.\n"), std::string::npos)
      << text;
}

// Each time has a standard error of 0.1 ms: the ratio of 4 ms to 1 ms is known within 10 %.
TEST(Speedup, ByAnAxisThereIsNoTrendWithinTheNoise) {
  const std::string spec = "- findings: [{speedup: {axis: precision, by: model}}]";
  const auto told = [&](const std::string& middle) {
    return markdown(with_errors("model,precision",
                                {"small,fp32,4", "small,bf16,1", "large,fp32," + middle,
                                 "large,bf16,1", "xl,fp32,16", "xl,bf16,1"},
                                0.1),
                    spec);
  };
  EXPECT_NE(told("4.4").find("small 4×, large 4.4×, xl 16×.\n"), std::string::npos) << told("4.4");
  EXPECT_NE(told("8").find("small 4×, large 8×, xl 16×, rising.\n"), std::string::npos)
      << told("8");
  const std::string unknown = markdown(
      "model,precision,pass,time.mean [ms]\nsmall,fp32,forward,4\nsmall,bf16,forward,1\n"
      "large,fp32,forward,8\nlarge,bf16,forward,1\nxl,fp32,forward,16\nxl,bf16,forward,1\n",
      spec);
  EXPECT_NE(unknown.find("small 4×, large 8×, xl 16×.\n"), std::string::npos) << unknown;
}

TEST(Speedup, ByRoundsOrNamesThereIsNoTrend) {
  const auto told = [](const std::string& axis, const std::string& a, const std::string& b,
                       const std::string& c) {
    return markdown(with_errors(axis + ",precision", {a + ",fp32,2", a + ",bf16,1", b + ",fp32,4",
                                                      b + ",bf16,1", c + ",fp32,8", c + ",bf16,1"}),
                    "- findings: [{speedup: {axis: precision, by: " + axis + "}}]");
  };
  const std::string rounds = told("repeat", "1", "2", "3");
  EXPECT_NE(rounds.find("; by repeat: 1 2×, 2 4×, 3 8×.\n"), std::string::npos) << rounds;
  const std::string names = told("norm", "rmsnorm", "fused", "layernorm");
  EXPECT_NE(names.find("; by norm: rmsnorm 2×, fused 4×, layernorm 8×.\n"), std::string::npos)
      << names;
}

TEST(Unverified, TimesMarkTheSentencesMadeOfThem) {
  const auto findings = [](const std::string& csv, const std::string& axis,
                           const std::string& value, const std::string& kind) {
    const store::Run run = testing_support::unverified_run(csv, axis, value);
    return testing_support::markdown_of({&run}, "- findings: [" + kind + "]");
  };
  const std::string pair =
      "seq_len,attention,pass,time.mean [ms]\n128,naive,forward,4\n128,mine,forward,2\n";
  for (const char* value : {"mine", "naive"}) {
    EXPECT_EQ(findings(pair, "attention", value, "speedup"),
              "- **mine is 2× faster than naive**, forward (not verified).\n");
  }
  const std::string pairs = pair + "256,naive,forward,8\n256,mine,forward,2\n";
  EXPECT_NE(findings(pairs, "attention", "mine", "speedup").find("in 2 cases) (not verified).\n"),
            std::string::npos);
  EXPECT_NE(findings(pairs, "seq_len", "128", "speedup").find(" (1 of 2 pairs not verified).\n"),
            std::string::npos);

  const std::string curve =
      "seq_len,attention,pass,time.mean [ms]\n128,mine,forward,1\n256,mine,forward,4\n"
      "512,mine,forward,16\n";
  EXPECT_NE(
      findings(curve, "attention", "mine", "scaling").find(" from 128 to 512 (not verified).\n"),
      std::string::npos);
  EXPECT_NE(findings(curve, "seq_len", "256", "scaling").find(" from 128 to 512 (not verified).\n"),
            std::string::npos);
  const std::string spread =
      "attention,measure.warmup,pass,time.mean [ms],time.std [ms]\nmine,0,forward,8,4\n"
      "mine,5,forward,2,0.1\n";
  EXPECT_NE(findings(spread, "attention", "mine", "warmup").find("of 1 pair) (not verified).\n"),
            std::string::npos);
  EXPECT_NE(findings(spread, "attention", "mine", "noise").find(" (not verified).\n"),
            std::string::npos);
  EXPECT_EQ(findings(pairs, "attention", "mine", "failures"), nothing);
}

std::string power_law(double exponent, double overhead) {
  std::string csv = "seq_len,pass,time.mean [s]\n";
  for (double n = 128; n <= 8192; n *= 2) {
    csv += fmt::format("{},forward,{}\n", n, overhead + 1e-6 * std::pow(n, exponent));
  }
  return csv;
}

TEST(Scaling, ExponentOfAPowerLaw) {
  EXPECT_EQ(markdown(power_law(1.5, 0), "- findings: [scaling]"),
            "- **forward time grows as seq_len^1.50** from 128 to 8192.\n");
}

TEST(Scaling, OverheadAtSmallSizesIsLeftOut) {
  const std::string text = markdown(power_law(2, 0.5), "- findings: [scaling]");
  EXPECT_NE(text.find("grows as seq_len^1.92** from 2048 to 8192."), std::string::npos) << text;
}

TEST(Scaling, NothingForWhatStaysTheSame) {
  EXPECT_EQ(markdown("seq_len,pass,time.mean "
                     "[s]\n128,forward,1\n256,forward,1.01\n512,forward,1.02\n1024,forward,1.03\n",
                     "- findings: [scaling]"),
            nothing);
}

TEST(Scaling, NothingFromTwoPointsOrNoise) {
  EXPECT_EQ(markdown("seq_len,pass,time.mean [s]\n128,forward,1\n1024,forward,64\n",
                     "- findings: [scaling]"),
            nothing);
  EXPECT_EQ(markdown("seq_len,pass,time.mean "
                     "[s]\n128,forward,1\n256,forward,9\n512,forward,2\n1024,forward,7\n",
                     "- findings: [scaling]"),
            nothing);
}

TEST(Warmup, SpreadAndMeanWithoutIt) {
  EXPECT_EQ(markdown("model,measure.warmup,pass,time.mean [ms],time.std [ms]\n"
                     "small,0,forward,30,8\nsmall,5,forward,20,1\n"
                     "xl,0,forward,60,4\nxl,5,forward,40,2\n",
                     "- findings: [warmup]"),
            "- **warm-up, forward**: with 0 warm-up steps instead of 5 the standard deviation is "
            "4× and the mean 1.5× "
            "as large (geometric mean of 2 pairs).\n");
}

TEST(Warmup, NothingWhereItMakesNoDifference) {
  EXPECT_EQ(
      markdown("measure.warmup,pass,time.mean [ms],time.std [ms]\n0,forward,20,1\n5,forward,20,1\n",
               "- findings: [warmup]"),
      nothing);
}

TEST(Noise, HowManyTimesAndTheWorst) {
  EXPECT_EQ(markdown("model,pass,time.mean [ms],time.std "
                     "[ms]\nsmall,forward,10,1\nmedium,forward,10,3\nxl,forward,10,5\n",
                     "- findings: [noise]"),
            "- **spread**: the standard deviation is over 20 % of the mean in 2 of 3 times, at "
            "most 50 % (forward, "
            "model xl).\n");
}

TEST(Noise, NothingWhereTimesAreSteadyOrTheirSpreadIsUnknown) {
  EXPECT_EQ(
      markdown("model,pass,time.mean [ms],time.std [ms]\nsmall,forward,10,1\nxl,forward,10,\n",
               "- findings: [noise]"),
      nothing);
}

TEST(Speedup, NothingWhenMostDifferencesAreNoise) {
  EXPECT_EQ(markdown("seq_len,attention,pass,time.mean [ms],time.std [ms],time.n\n"
                     "1,naive,forward,1,0.3,9\n1,flash,forward,1.01,0.3,9\n"
                     "2,naive,forward,1,0.3,9\n2,flash,forward,1.02,0.3,9\n"
                     "3,naive,forward,9,0.3,9\n3,flash,forward,1,0.3,9\n",
                     "- findings: [speedup]"),
            nothing);
}

TEST(Drift, TheRangeOverCasesAndTheSkippedSteps) {
  EXPECT_EQ(markdown("model,precision,pass,loss_error.samples [],last_loss_error.samples [],"
                     "first_gradient_error.samples [],compared_skips.samples [count]\n"
                     "small,fp16,against_fp32,0.001 0.003 0.002,0.002,0.0005,1\n"
                     "large,fp16,against_fp32,0.001 0.003 0.008,0.008,0.0005,1\n"
                     "small,fp32,against_fp32,0 0 0.0000001,0.0000001,0.0000002,0\n",
                     "- findings: [drift]"),
            "- **drift, fp16**: after 3 training steps the loss is 0.2 % to 0.8 % off fp32's (2 "
            "cases); the first gradients are 0.05 % off; 2 of 6 steps were skipped.\n"
            "- **drift, fp32**: after 3 training steps the loss is 1e-05 % off fp32's; the first "
            "gradients are 2e-05 % off.\n");
}

TEST(Drift, NothingWithoutAComparison) {
  EXPECT_EQ(markdown("precision,pass,time.mean [ms]\nbf16,train_step,2\n", "- findings: [drift]"),
            nothing);
}

TEST(Failures, WhichAndWhy) {
  EXPECT_EQ(markdown("seq_len,attention,pass,time.mean [ms],outcome,reason\n"
                     "128,naive,forward,1,,\n128,flash,forward,1,,\n"
                     "256,naive,forward,,oom,2 GiB requested\n256,flash,forward,1,,\n"
                     "512,naive,forward,,oom,8 GiB requested\n512,flash,forward,1,,\n",
                     "- findings: [failures]"),
            "- **oom**: 2 of 6 results (attention naive, seq_len 256 or 512), for example: 2 GiB "
            "requested.\n");
}

TEST(Failures, ACaseThatFailedAfterAllWasMeasured) {
  store::Run run = testing_support::run_of(
      "model,pass,time.mean [ms]\nsmall,forward,1\nsmall,backward,1\n"
      "xl,forward,2\nxl,backward,2\n");
  run.cases[1].outcome = Outcome::crashed;
  run.cases[1].reason = "ended with signal 6";
  EXPECT_EQ(testing_support::markdown_of({&run}, "- findings: [failures]"),
            "- **crashed**: 1 of 2 cases (model xl): after all was measured: ended with signal "
            "6.\n");
}

TEST(Failures, NothingWhenAllIsWell) {
  EXPECT_EQ(markdown("model,pass,time.mean [ms]\nsmall,forward,1\n", "- findings: [failures]"),
            nothing);
}

TEST(Findings, CanBeNarrowed) {
  EXPECT_EQ(markdown("model,pass,time.mean [ms],outcome\nsmall,forward,1,\nxl,forward,,oom\n",
                     "- findings: [{failures: {where: {model: small}}}]"),
            nothing);
}

}  // namespace
}  // namespace assay::report
