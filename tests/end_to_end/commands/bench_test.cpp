// `assay bench`: variants and sources compared without an experiment's file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Textbook attention that also waits: slower than `naive` by far.
constexpr const char* slow_source = R"(
#include <ATen/ops/scaled_dot_product_attention.h>
#include <assay/attention.h>

#include <chrono>

struct Slow final : assay::Attention {
  at::Tensor forward(const assay::AttentionInputs& in) override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < end) continue;
    return at::scaled_dot_product_attention(in.q, in.k, in.v, {}, 0, in.causal, in.scale);
  }
};
ASSAY_PLUGIN(Slow, "slow", "Waits 20 ms.")
)";

const std::vector<std::string> in_little_time = {
    "--batch", "1",        "--heads",  "1",   "--d-head", "8", "--passes",
    "forward", "--causal", "--device", "cpu", "--warmup", "1"};

Ended bench(const Folder& folder, std::vector<std::string> words) {
  words.insert(words.begin(), "bench");
  words.insert(words.end(), in_little_time.begin(), in_little_time.end());
  return assay(folder.path(), words);
}

TEST(Bench, ComparesASourceOfOnesOwnWithAShippedVariantInOneCommand) {
  const Folder folder;
  folder.write("slow.cpp", slow_source);
  const Ended ended =
      bench(folder, {"attention", "naive", "slow.cpp", "--seq-len", "16,32", "--samples", "6",
                     "--export-json", "out.json", "--export-csv", "out.csv", "--export-markdown",
                     "out.md", "--write", "same.yaml"});
  ASSERT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output,
              ContainsRegex("naive ran [0-9.]+ [^\n]*times faster than slow \\(seq_len 16\\)"));
  EXPECT_THAT(ended.output, HasSubstr("faster than slow (seq_len 32)"));
  EXPECT_THAT(ended.output, HasSubstr("\nexperiment: bench_attention\n"));
  const auto json = nlohmann::json::parse(folder.read("out.json"));
  ASSERT_EQ(json["results"].size(), 4u);
  EXPECT_EQ(json["results"][0]["samples_by_process"], (std::vector<int>{6, 6, 6}));
  EXPECT_EQ(json["comparisons"][0]["verdict"], "slower");
  EXPECT_THAT(folder.read("out.csv"), HasSubstr("\n16,slow,forward,ok,0.0"));
  EXPECT_THAT(folder.read("out.md"), HasSubstr("- naive ran "));

  // The YAML has the same cases: nothing is left of them.
  const Ended resumed = assay(
      folder.path(), {"run", "same.yaml", "--resume", "bench_attention-1", "--plugin", "slow.cpp"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("12 cases, 12 already done"));
}

TEST(Bench, ShowsTheChangeSinceAKeptBaseline) {
  const Folder folder;
  const std::vector<std::string> naive = {"attention", "naive", "--seq-len", "16",
                                          "--samples", "6",     "--runs",    "2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), naive.begin(), naive.end());
    return bench(folder, more);
  };
  EXPECT_THAT(with({"--baseline", "main"}).errors, HasSubstr("there is no baseline 'main'"));
  const Ended kept = with({"--save-baseline", "main", "--name", "before"});
  ASSERT_EQ(kept.exit_code, 0) << kept.errors;
  EXPECT_THAT(assay(folder.path(), {"list", "baselines"}).output, ContainsRegex("main +before\n"));
  const Ended now = with({"--baseline", "main"});
  ASSERT_EQ(now.exit_code, 0) << now.errors;
  EXPECT_THAT(now.output, HasSubstr("since main"));
  EXPECT_THAT(assay(folder.path(), {"compare", "baseline:main", "latest"}).exit_code, 0);
  EXPECT_EQ(assay(folder.path(), {"rm", "before"}).exit_code, 2);
}

TEST(Bench, MarksAVariantThatCannotTakeTurns) {
  const Folder folder;
  folder.write("program.yaml",
               "kind: attention\nname: program\ndescription: Tells a time.\n"
               "command: [sh, program.sh]\nworkloads: [attention]\n");
  folder.write("program.sh",
               "echo '{\"series\": {\"pass\": \"forward\", \"metric\": \"time\", \"unit\": \"s\", "
               "\"clock\": \"wall\", \"samples\": [0.01, 0.01, 0.01, 0.01, 0.01, 0.01]}}'\n");
  const Ended ended = bench(folder, {"attention", "naive", "program.yaml", "--seq-len", "16",
                                     "--samples", "6", "--runs", "1", "--allow-external"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("‡ program did not take turns: "));
}

TEST(Bench, SaysWhatIsWrongBeforeItMeasures) {
  const Folder folder;
  const auto refused = [&](const std::vector<std::string>& words) {
    const Ended ended = bench(folder, words);
    EXPECT_EQ(ended.exit_code, 2) << ended.output;
    EXPECT_THAT(ended.output, Not(HasSubstr("median")));
    return ended.errors;
  };
  EXPECT_THAT(refused({"attention", "naive", "falsh"}), HasSubstr("did you mean 'flash'?"));
  EXPECT_THAT(refused({"attention", "naive", "--seq-ln", "8"}), HasSubstr("'seq_len'"));
  EXPECT_THAT(refused({"attention", "naive", "--seq-len", "many"}), HasSubstr("seq_len"));
  EXPECT_THAT(refused({"atention", "naive"}), HasSubstr("did you mean 'attention'?"));
}

TEST(RunNames, AreTheUsersWhereGivenAndRunsShowTheChangeSinceABaseline) {
  const Folder folder;
  const std::string file =
      folder.write("e.yaml",
                   "experiment: lengths\nworkload: attention\nmatrix: {seq_len: [8, 16]}\n"
                   "fixed: {attention: naive, batch: 1, heads: 1, d_head: 8, device: cpu}\n"
                   "measure: {passes: [forward], warmup: 1, samples: 6}\n");
  const Ended first =
      assay(folder.path(), {"run", file, "--name", "before", "--save-baseline", "main"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.output, HasSubstr("report: results/before/report.md\n"));
  EXPECT_EQ(assay(folder.path(), {"run", file, "--name", "before"}).exit_code, 2);
  EXPECT_EQ(assay(folder.path(), {"run", file, "--name", "../x"}).exit_code, 2);
  const Ended second = assay(folder.path(), {"run", file, "--baseline", "main"});
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_THAT(second.output, HasSubstr("verdict"));
}

}  // namespace
}  // namespace assay::test
