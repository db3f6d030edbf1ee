// The main line: YAML → cases → workers → database → report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* toy_model =
    "experiment: toy\ntitle: A toy model\nworkload: model_step\n"
    "matrix: {precision: [fp32, bf16]}\n"
    "fixed: {model: toy, architecture: swiglu, batch: 2, seq_len: 16, device: cpu}\n"
    "measure: {passes: [inference, train_step], warmup: 1, samples: 3}\n";

TEST(RunTest, MeasuresEveryPassOfEveryCaseAndWritesTheReport) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"run", folder.write("toy.yaml", toy_model)});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("results/toy-1/report.md"));

  std::size_t timed = 0;
  for (const auto& line : exported(folder.path(), "latest")) {
    EXPECT_EQ(line["outcome"], "ok") << line;
    if (line["metric"] == "time") {
      ++timed;
      ASSERT_EQ(line["samples"].size(), 3u);
      for (const auto& sample : line["samples"]) EXPECT_GT(sample.get<double>(), 0);
      EXPECT_EQ(line["unit"], "s");
    }
    if (line["metric"] == "parameters") {
      // d_model 64, d_ff 192, 2 layers, vocabulary 256, by hand: embedding and head 2 · 256 · 64;
      // a layer 4 · 64² + 3 · 64 · 192 + 2 · 64; the last norm 64.
      EXPECT_EQ(line["samples"][0].get<double>(),
                2 * 256 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 192 + 128) + 64);
    }
    if (line["metric"] == "peak_memory") {
      EXPECT_GT(line["samples"][0].get<double>(), 0);
    }
  }
  EXPECT_EQ(timed, 4u);
  EXPECT_THAT(folder.read("results/toy-1/report.md"), HasSubstr("A toy model\n"));
}

TEST(RunTest, TheQuickstartHasATableAPlotAndFindings) {
  const Folder folder;
  const Ended ended =
      assay(folder.path(),
            {"run", ASSAY_SOURCE_DIR "/experiments/quickstart.yaml", "--device", "cpu", "--set",
             "architecture=[swiglu]", "--set", "measure.warmup=1", "--set", "measure.samples=2"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 4 ok\n"));
  const std::string report = folder.read("results/quickstart-1/report.md");
  EXPECT_THAT(report, ContainsRegex("\n\\| architecture +\\| attention +\\| precision +\\|"));
  EXPECT_THAT(report, ContainsRegex("\n\\| swiglu(†| )+\\| math_libtorch +\\| bf16 +\\|"));
  // Two samples on a busy machine may all be noise.
  EXPECT_THAT(report, AnyOf(HasSubstr("\n## Findings\n\n- **"),
                            HasSubstr("\n## Findings\n\nThe results support no finding")));
  if (std::system("command -v gnuplot >/dev/null") != 0) return;
  EXPECT_THAT(report, HasSubstr("](plot-1.svg)"));
  EXPECT_THAT(folder.read("results/quickstart-1/plot-1.svg"), HasSubstr("<svg"));
}

TEST(RunTest, WhatOnlyAnOverrideVariesIsInTheReportToo) {
  const Folder folder;
  const Ended ended =
      assay(folder.path(),
            {"run", ASSAY_SOURCE_DIR "/experiments/quickstart.yaml", "--device", "cpu", "--set",
             "architecture=[swiglu]", "--set", "attention=naive", "--set", "precision=fp32",
             "--set", "repeat=[0, 1]", "--set", "measure.warmup=1", "--set", "measure.samples=2"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::string report = folder.read("results/quickstart-1/report.md");
  EXPECT_THAT(report, ContainsRegex("\n\\| swiglu(†| )+\\| naive +\\| fp32 +\\| +1 \\|"));
  EXPECT_THAT(report, HasSubstr("\n`repeat` was added: the report does not name it"));
}

// Twice a word is not a number: an error only once the word is known.
TEST(RunTest, ABlockThatCannotBeMadeCostsNeitherTheReportNorTheNextRun) {
  const Folder folder;
  const std::string rounds =
      folder.write("rounds.yaml",
                   "experiment: rounds\nworkload: attention\nmatrix: {precision: [fp32]}\n"
                   "fixed: {batch: 1, heads: 1, seq_len: 16, d_head: 8, device: cpu}\n"
                   "measure: {passes: [forward], warmup: 1, samples: 1}\n"
                   "report:\n  - table:\n      rows: [precision]\n"
                   "      columns: {ms: {metric: time, unit: ms}, twice: {expr: 2 * precision}}\n"
                   "  - table:\n      rows: [precision]\n"
                   "      columns: {ms: {metric: time, unit: ms}}\n");
  const std::string toy = folder.write("toy.yaml", toy_model);
  const Ended ended =
      assay(folder.path(), {"run", rounds, toy, "--set", "repeat=[0, 1]", "--set", "batch=1"});
  EXPECT_EQ(ended.exit_code, 2) << ended.errors;
  const char* const why = "rounds.yaml:9:54: ";
  EXPECT_THAT(ended.errors, HasSubstr(why));
  EXPECT_THAT(ended.output, HasSubstr("report: results/rounds-1/report.md\n"));
  EXPECT_THAT(ended.output, HasSubstr("report: results/toy-1/report.md\n"));
  const std::string report = folder.read("results/rounds-1/report.md");
  EXPECT_THAT(report, HasSubstr("**Not made**: "));
  EXPECT_THAT(report, HasSubstr(why));
  EXPECT_THAT(report, ContainsRegex("\n\\| fp32 +\\| +1 \\|"));
}

TEST(RunTest, TrainsOnTwoGlooRanks) {
  const Folder folder;
  const std::string file = folder.write("ranks.yaml",
                                        "experiment: ranks\nworkload: model_step\n"
                                        "matrix: {world_size: [1, 2]}\n"
                                        "fixed: {model: toy, architecture: gelu, batch: 2, "
                                        "seq_len: 16, device: cpu, communication: naive}\n"
                                        "measure: {passes: [train_step], warmup: 1, samples: 3}\n");
  const Ended ended = assay(folder.path(), {"run", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  std::vector<std::string> seen;
  for (const auto& line : exported(folder.path(), "latest")) {
    if (line["metric"] != "time") continue;
    EXPECT_EQ(line["outcome"], "ok") << line;
    EXPECT_EQ(line["samples"].size(), 3u);
    std::ostringstream words;
    words << line["case"]["world_size"] << " ranks, rank " << line["rank"] << ", "
          << line["case"]["backend"].get<std::string>();
    seen.push_back(words.str());
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(
                        "1 ranks, rank 0, none", "2 ranks, rank 0, gloo", "2 ranks, rank 1, gloo"));
}

TEST(RunTest, RanksThatDoNotTrainOnTheirMeanGradientAreWrong) {
  const Folder folder;
  const std::string file = folder.write(
      "ranks.yaml",
      "experiment: ranks\nworkload: model_step\n"
      "matrix: {communication: [test_mean, test_forgets, test_one_rank_doubles]}\n"
      "fixed: {model: toy, architecture: gelu, batch: 2, seq_len: 16, device: cpu, world_size: 2}\n"
      "measure: {passes: [train_step], warmup: 1, samples: 3, timeout: 100 s}\n");
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("communication_variants")});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  for (const auto& line : exported(folder.path(), "latest")) {
    if (line["metric"] != "time") continue;
    if (line["case"]["communication"] == "test_mean") {
      EXPECT_EQ(line["outcome"], "ok") << line["reason"];
    } else {
      EXPECT_EQ(line["outcome"], "wrong");
      EXPECT_THAT(line["reason"].get<std::string>(), ::testing::HasSubstr("grad."));
    }
  }
}

// Both shapes of sharding train like a single process, with autocast too; one that leaves old
// parameters where they compute does not. What they sent is counted: over two ranks a flat buffer
// is scattered and gathered once a step.
TEST(RunTest, ShardedRanksTrainAsOneProcess) {
  const Folder folder;
  const std::string file = folder.write(
      "shards.yaml",
      "experiment: shards\nworkload: model_step\n"
      "matrix: {communication: [test_flat_shard, test_block_shard, test_stale_shard], "
      "precision: [fp32, bf16]}\n"
      "fixed: {model: toy, batch: 2, seq_len: 16, device: cpu, world_size: 2}\n"
      "measure: {passes: [inference, train_step], warmup: 1, samples: 3, timeout: 100 s}\n");
  const Ended ended = assay(folder.path(), {"run", file, "--plugin", fixture("sharded_variants")});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  std::map<std::string, std::map<std::string, double>> bytes;  // by variant and collective
  for (const auto& line : exported(folder.path(), "latest")) {
    const std::string variant = line["case"]["communication"];
    if (line["metric"] == "time") {
      // Ranks that do not agree in one pass measure none.
      EXPECT_EQ(line["outcome"], variant == "test_stale_shard" ? "wrong" : "ok") << line;
    }
    if (line["metric"] == "sent_bytes" && line["pass"] == "train_step" &&
        line["case"]["precision"] == "fp32" && line["rank"] == 0) {
      bytes[variant][line["part"]] = line["samples"][0];
    }
  }
  const auto& flat = bytes["test_flat_shard"];
  EXPECT_EQ(flat.at("all_gather"), flat.at("reduce_scatter"));
  // Gathered for the forward and again for the backward.
  const auto& blocks = bytes["test_block_shard"];
  EXPECT_EQ(blocks.at("all_gather"), 2 * blocks.at("reduce_scatter"));
  EXPECT_GT(blocks.at("reduce_scatter"), 0);
}

// What is held and sent is counted from tensors and calls, what is predicted follows from the
// variant's definition. Slices are padded, and step counts are moments' too.
TEST(RunTest, RanksHoldAndSendWhatTheirWayOfSharingSays) {
  const Folder folder;
  const std::string file = folder.write(
      "sharing.yaml",
      "experiment: sharing\nworkload: model_step\n"
      "matrix: {communication: [naive, bucketed, sharded_optimizer, zero1, "
      "{fsdp: {reshard_after_forward: [true, false]}}], precision: [fp32, bf16]}\n"
      "fixed: {model: toy, batch: 1, seq_len: 16, device: cpu, world_size: 2, record_memory: "
      "true}\n"
      "measure: {passes: [train_step], warmup: 1, samples: 2, timeout: 100 s}\n");
  const Ended ended = assay(folder.path(), {"run", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  std::map<std::string, std::map<std::string, double>> values;  // by case
  for (const auto& line : exported(folder.path(), "latest")) {
    if (line["rank"] != 0 || line["samples"].empty()) continue;
    const std::string key = line["case"].dump();
    values[key][line["metric"].get<std::string>() + "/" + line["part"].get<std::string>()] =
        line["samples"][0];
  }
  ASSERT_EQ(values.size(), 12u);
  for (const auto& [key, of_case] : values) {
    SCOPED_TRACE(key);
    const double parameters = 4 * of_case.at("parameters/");
    for (const char* part : {"", "parameters", "gradients", "optimizer"}) {
      const std::string name(part);
      EXPECT_NEAR(of_case.at("state_memory/" + name), of_case.at("predicted_state_memory/" + name),
                  0.01 * parameters)
          << part;
    }
    EXPECT_NEAR(of_case.at("communication_volume/measured"),
                of_case.at("communication_volume/counted"), 0.01 * parameters);
    // Making a model needs its parameters whole, also where they are then cut.
    EXPECT_GE(of_case.at("peak_memory/after_init"), parameters);
    EXPECT_GE(of_case.at("peak_memory/after_step"), of_case.at("state_memory/"));
  }
}

// A collective that is waited for where it is launched hides nothing; one that is launched in the
// backward is under way longer than it is waited for.
TEST(RunTest, TimesOfCollectivesTellWhatIsHidden) {
  const Folder folder;
  const std::string file = folder.write(
      "hidden.yaml",
      "experiment: hidden\nworkload: model_step\nmatrix: {communication: [naive, bucketed]}\n"
      "fixed: {model: toy, batch: 1, seq_len: 16, device: cpu, world_size: 2}\n"
      "measure: {passes: [train_step], warmup: 1, samples: 2, phases: true, timeout: 100 s}\n");
  const Ended ended = assay(folder.path(), {"run", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  std::map<std::string, std::map<std::string, double>> values;  // by variant
  for (const auto& line : exported(folder.path(), "latest")) {
    if (line["rank"] != 0 || line["part"] != "world") continue;
    values[line["case"]["communication"]][line["metric"]] = line["samples"][0];
  }
  for (const char* variant : {"naive", "bucketed"}) {
    const auto& of = values[variant];
    const double hidden = of.at("hidden_communication");
    EXPECT_GE(hidden, 0);
    EXPECT_LE(hidden, 1);
    EXPECT_NEAR(hidden,
                std::max(0.0, 1 - of.at("exposed_communication") / of.at("communication_time")),
                1e-9);
  }
}

TEST(RunTest, ResumeRunsOnlyWhatIsMissing) {
  const Folder folder;
  const std::string file = folder.write("toy.yaml", toy_model);
  ASSERT_EQ(assay(folder.path(), {"run", file, "--filter", "precision == fp32"}).exit_code, 0);
  const Ended resumed = assay(folder.path(), {"run", file, "--resume", "--changed"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("1 already done"));
  EXPECT_THAT(resumed.errors, ::testing::Not(HasSubstr("precision=fp32")));
  std::size_t cases = 0;
  for (const auto& line : exported(folder.path(), "toy-1")) {
    if (line["metric"] == "time" && line["pass"] == "inference") ++cases;
  }
  EXPECT_EQ(cases, 2u);
}

TEST(RunTest, ExportedRunsCanBeImportedAndReportedElsewhere) {
  const Folder here;
  const std::string file = here.write("toy.yaml", toy_model);
  ASSERT_EQ(assay(here.path(), {"run", file}).exit_code, 0);
  ASSERT_EQ(assay(here.path(), {"export", "latest", "--output", "run.jsonl"}).exit_code, 0);

  const Folder there;
  const Ended imported = assay(there.path(), {"import", (here.path() / "run.jsonl").string()});
  ASSERT_EQ(imported.exit_code, 0) << imported.errors;
  const Ended report = assay(there.path(), {"report", "latest"});
  ASSERT_EQ(report.exit_code, 0) << report.errors;
  const auto tables = [](const std::string& text) {
    std::string rows;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("|")) rows += line + "\n";
    }
    return rows;
  };
  const std::string original = tables(here.read("results/toy-1/report.md"));
  EXPECT_FALSE(original.empty());
  EXPECT_EQ(tables(there.read("results/toy-1/report.md")), original);
}

TEST(RunTest, AGpuCaseOnAMachineWithoutOneIsSkippedWithTheReason) {
  const Folder folder;
  const std::string file = folder.write("toy.yaml", toy_model);
  const Ended doctor = assay(folder.path(), {"doctor"});
  if (doctor.output.find("ok       GPU") != std::string::npos) GTEST_SKIP() << "there is a GPU";
  const Ended ended = assay(folder.path(), {"run", file, "--device", "cuda"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("skipped"));
  EXPECT_THAT(folder.read("results/toy-1/report.md"), HasSubstr("SKIPPED"));
  EXPECT_THAT(folder.read("results/toy-1/report.md"),
              AnyOf(HasSubstr("no GPU"), HasSubstr("this build of assay has no CUDA")));
}

TEST(RunTest, ExternalVariantsNeedLeave) {
  const Folder folder;
  const std::string file =
      folder.write("peers.yaml",
                   "experiment: peers\nworkload: model_step\nmatrix: {compile: [torch_eager]}\n"
                   "fixed: {model: toy, batch: 1, seq_len: 8, device: cpu}\n"
                   "measure: {passes: [inference], warmup: 1, samples: 1}\n");
  const Ended ended = assay(folder.path(), {"run", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("--allow-external"));
}

TEST(RunTest, TheHostDoesNotLinkLibTorch) {
  const Folder folder;
  const std::string listing = folder.write("needed", "");
  ASSERT_EQ(
      std::system(("objdump -p " ASSAY_BUILD_DIR "/bin/assay | grep NEEDED > " + listing).c_str()),
      0);
  const std::string needed = folder.read("needed");
  for (const char* library : {"torch", "c10", "cuda", "nccl"}) {
    EXPECT_THAT(needed, ::testing::Not(HasSubstr(library)));
  }
}

}  // namespace
}  // namespace assay::test
