// What was timed is what is verified: plugins that are quick without doing the work get no time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// The series `time` of the one case of an experiment.
nlohmann::json judged_time(const std::string& experiment) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", experiment);
  assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  const Ended ended = assay(folder.path(), {"export", "latest"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  std::istringstream stream(ended.output);
  nlohmann::json context;
  for (std::string line; std::getline(stream, line);) {
    auto series = nlohmann::json::parse(line);
    if (const auto& from = series["provenance"]; from.contains("case")) {
      context = from["case"]["context"];
    }
    if (series["metric"] != "time") continue;
    series["context"] = context;
    return series;
  }
  return {};
}

std::string norm_experiment(const std::string& norm, const std::string& rest,
                            const std::string& measure = "") {
  return "experiment: honest\nworkload: norm\nmatrix: {norm: [" + norm +
         "]}\n"
         "fixed: {" +
         rest +
         ", device: cpu}\n"
         "measure: {passes: [forward], warmup: 2, samples: 5" +
         measure + "}\n";
}

constexpr const char* small = "rows: 300, n_cols: 512";
constexpr const char* large = "rows: 3000, n_cols: 1024";

TEST(IntegrityTest, HonestWorkIsLookedAtAndHasATime) {
  for (const char* integrity : {"", ", integrity: full"}) {
    const auto time = judged_time(norm_experiment("test_right_norm", large, integrity));
    EXPECT_EQ(time["outcome"], "ok") << time["reason"];
    EXPECT_EQ(time["samples"].size(), 5u);
    const auto timed = time["context"]["verification"]["forward"]["timed"];
    EXPECT_EQ(timed["integrity"], *integrity == '\0' ? "fast" : "full") << timed;
    EXPECT_EQ(timed["renewed_inputs"], 2) << timed;
    EXPECT_GE(timed["looks"], 3) << timed;
    EXPECT_LE(timed["error"], timed["tolerance"]) << timed;
    EXPECT_GT(timed["error_ratio"], 0) << timed;
  }
}

struct Cheat {
  const char* norm;
  const char* sizes;
  ::testing::Matcher<std::string> reason;
};

class CheatingNorm : public ::testing::TestWithParam<Cheat> {};

TEST_P(CheatingNorm, HasNoTime) {
  const Cheat& cheat = GetParam();
  const auto time = judged_time(norm_experiment(cheat.norm, cheat.sizes));
  EXPECT_EQ(time["outcome"], "wrong") << time;
  EXPECT_TRUE(time["samples"].empty());
  EXPECT_THAT(time["reason"].get<std::string>(), cheat.reason);
}

const auto differs = AllOf(HasSubstr("in a timed call: "), HasSubstr("differs from the reference"));

INSTANTIATE_TEST_SUITE_P(
    Variants, CheatingNorm,
    ::testing::Values(
        // Memory of an earlier program may have the same address: then verification sees it first.
        Cheat{"test_remembers_by_address", small, HasSubstr("differs from the reference")},
        Cheat{"test_remembers_by_address", large, HasSubstr("differs from the reference")},
        Cheat{"test_remembers_by_contents", large, differs},
        Cheat{"test_half_the_mean", "rows: 300, n_cols: 8192, precision: bf16",
              HasSubstr("differs from the reference")},
        Cheat{"test_zeroes_its_input", small, HasSubstr("differs from the reference")},
        Cheat{"test_returns_its_input", large, HasSubstr("a call changed its input x")},
        Cheat{"test_leaves_rows_out", large,
              AnyOf(differs, HasSubstr("in a timed call: out holds "))}),
    [](const auto& tested) { return std::to_string(tested.index) + tested.param.norm; });

TEST(IntegrityTest, AnAttentionOfTheRowsThatAPublicSeedDrawsIsWrong) {
  const auto time = judged_time(
      "experiment: honest\nworkload: attention\nmatrix: {attention: [test_public_rows]}\n"
      "fixed: {batch: 1, heads: 2, seq_len: 5000, d_head: 8, causal: true, device: cpu}\n"
      "measure: {passes: [forward], warmup: 1, samples: 3}\n");
  EXPECT_EQ(time["outcome"], "wrong") << time;
  EXPECT_THAT(time["reason"].get<std::string>(), HasSubstr("differs from the reference"));
}

std::string cold_steps(int samples) {
  return "experiment: cold\nworkload: toy_mlp\nfixed: {width: 20, batch: 4, device: cpu}\n"
         "measure: {passes: [train_step], warmup: 0, samples: " +
         std::to_string(samples) + "}\n";
}

// What the only step started from was not kept, so that nothing warms it up.
TEST(IntegrityTest, ATimeWithoutALookIsMarked) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", cold_steps(1));
  EXPECT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  const std::string report = assay(folder.path(), {"report", "latest"}).output;
  EXPECT_THAT(report, HasSubstr("† not looked at (1 of 1 results: train_step): none of its timed "
                                "calls was compared with a reference: what the step started from "
                                "was not kept"));
  EXPECT_THAT(assay(folder.path(), {"show", "latest"}).output, HasSubstr("†"));
  EXPECT_THAT(assay(folder.path(), {"compare", "latest", "latest"}).output,
              HasSubstr("not looked at"));
}

TEST(IntegrityTest, TheLastOfSeveralColdStepsIsLookedAt) {
  const auto time = judged_time(cold_steps(3));
  EXPECT_EQ(time["context"]["verification"]["train_step"]["timed"]["looks"], 1) << time;
  for (const auto& mark : time["context"].value("marks", nlohmann::json::array())) {
    EXPECT_NE(mark["mark"], "not looked at") << mark;
  }
}

TEST(IntegrityTest, ACompileVariantThatWorksAheadOfTheCallIsWrong) {
  for (const char* pass : {"forward", "backward"}) {
    const auto time = judged_time(
        "experiment: honest\nworkload: norm\nmatrix: {compile: [test_works_before]}\n"
        "fixed: {norm: test_right_norm, rows: 300, n_cols: 512, device: cpu}\n"
        "measure: {passes: [" +
        std::string(pass) + "], warmup: 2, samples: 5}\n");
    EXPECT_EQ(time["outcome"], "wrong") << pass << time;
    EXPECT_THAT(time["reason"].get<std::string>(),
                AnyOf(differs, HasSubstr("in a timed call: grad.x holds NaN")))
        << pass;
  }
}

}  // namespace
}  // namespace assay::test
