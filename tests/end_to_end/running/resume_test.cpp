// Resumed runs, repeated cases and databases that fail meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "run/process/process.h"
#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A quick case for each length.
std::string lengths(const std::string& list, const std::string& more = "") {
  return "experiment: lengths\nworkload: attention\n"
         "matrix: {seq_len: [" +
         list +
         "]}\n"
         "fixed: {attention: naive, batch: 1, heads: 1, d_head: 8, causal: true, device: cpu}\n"
         "measure: {passes: [forward], warmup: 1, samples: 5" +
         more + "}\n";
}

// Time and number of samples of each length, in the order of the run's cases.
std::vector<std::string> measured(const Folder& folder, const std::string& run) {
  std::vector<std::string> found;
  for (const auto& line : exported(folder.path(), run)) {
    if (line["metric"] != "time") continue;
    found.push_back(line["case"]["seq_len"].dump());
  }
  return found;
}

// Runs a shell command in the folder; `assay` is the built program.
Ended shell(const Folder& folder, const std::string& script) {
  run::Process::Command command;
  command.arguments = {"env", "-C", folder.path().string(),
                       "sh",  "-c", "PATH=" ASSAY_BUILD_DIR "/bin:$PATH; " + script};
  command.environment["ASSAY_CACHE"] = (folder.path() / "cache").string();
  const auto done = run::capture(command);
  if (!done) return {-1, {}, done.error().text()};
  return {done->end.signalled ? 128 + done->end.number : done->end.number, done->output,
          done->errors};
}

TEST(ResumeTest, ANarrowedPlanLosesNoResult) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", lengths("8, 16, 24"));
  ASSERT_EQ(assay(folder.path(), {"run", file, "--filter", "seq_len == 24"}).exit_code, 0);
  const Ended second =
      assay(folder.path(), {"run", file, "--filter", "seq_len == 8", "--resume", "lengths-1"});
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_THAT(measured(folder, "lengths-1"), ::testing::UnorderedElementsAre("8", "24"));
  const Ended own = assay(folder.path(), {"run", file, "--resume"});
  EXPECT_THAT(own.errors, HasSubstr("1 case, 1 already done")) << "its own filter";
  const Ended third = assay(folder.path(), {"run", file, "--resume", "--changed"});
  ASSERT_EQ(third.exit_code, 0) << third.errors;
  EXPECT_THAT(third.errors, HasSubstr("3 cases, 2 already done"));
  EXPECT_THAT(measured(folder, "lengths-1"), ElementsAre("8", "16", "24"));
  EXPECT_THAT(assay(folder.path(), {"list", "runs"}).output, Not(HasSubstr("lengths-2")));
}

TEST(ResumeTest, OfARunAloneTakesItsOwnExperiment) {
  const Folder folder;
  folder.write("e.yaml", lengths("8, 16, 32"));
  ASSERT_EQ(
      shell(folder,
            "assay run e.yaml && assay export lengths-1 | grep -v '\"seq_len\":16' > some.jsonl "
            "&& rm e.yaml && assay import some.jsonl --results other")
          .exit_code,
      0);
  const Ended resumed = shell(folder, "assay run --resume lengths-1 --results other");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("seq_len=16"));
  EXPECT_THAT(resumed.errors, Not(HasSubstr("seq_len=32")));
  const Ended ended = shell(folder, "assay export lengths-1 --results other");
  std::set<std::string> stored;
  std::istringstream stream(ended.output);
  for (std::string line; std::getline(stream, line);) {
    stored.insert(nlohmann::json::parse(line)["case"]["seq_len"].dump());
  }
  EXPECT_THAT(stored, ::testing::ElementsAre("16", "32", "8"));
}

TEST(ResumeTest, ARunOfAnotherExperimentIsLeftAlone) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", lengths("8"));
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  std::string other = lengths("16");
  other.replace(other.find("lengths"), 7, "others");
  const Ended ended =
      assay(folder.path(), {"run", folder.write("o.yaml", other), "--resume", "lengths-1"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors,
              HasSubstr("'lengths-1' is a run of the experiment 'lengths', not of 'others'"));
  EXPECT_THAT(measured(folder, "lengths-1"), ElementsAre("8"));
}

TEST(ResumeTest, MixesNoCasesOfOtherSettings) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", lengths("8, 16"));
  ASSERT_EQ(assay(folder.path(), {"run", file, "--set", "seq_len=[24, 32, 40]"}).exit_code, 0);
  const Ended own = assay(folder.path(), {"run", file, "--resume"});
  ASSERT_EQ(own.exit_code, 0) << own.errors;
  EXPECT_THAT(own.errors, HasSubstr("3 cases, 3 already done"));
  const Ended other = assay(folder.path(), {"run", file, "--resume", "--set", "seq_len=[8, 16]"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("seq_len is 24, 32, 40 in the run and 16, 8 now"));
  EXPECT_THAT(measured(folder, "lengths-1"), ElementsAre("24", "32", "40"));
}

TEST(ResumeTest, OtherPassesAreMissing) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", lengths("8"));
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  const Ended same = assay(folder.path(), {"run", file, "--resume"});
  EXPECT_THAT(same.errors, HasSubstr("1 case, 1 already done"));
  ASSERT_EQ(
      assay(folder.path(), {"run", file, "--resume", "--set", "measure.passes=[forward,backward]"})
          .exit_code,
      0);
  std::vector<std::string> passes;
  for (const auto& line : exported(folder.path(), "lengths-1")) {
    if (line["metric"] == "time") passes.push_back(line["pass"]);
  }
  EXPECT_THAT(passes, ElementsAre("forward", "backward"));
}

TEST(ResumeTest, RetryAndRerunReplaceWhatTheySay) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml",
      "experiment: mixed\nworkload: attention\nmatrix: {attention: [test_throws, test_right, "
      "test_declines]}\nfixed: {batch: 1, heads: 1, seq_len: 8, d_head: 8, causal: true, device: "
      "cpu}\n"
      "measure: {passes: [forward], warmup: 1, samples: 2}\n");
  const std::string plugin = fixture("attention_variants");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", file, "--plugin", plugin});
    return assay(folder.path(), more);
  };
  ASSERT_EQ(run({}).exit_code, 1);
  const auto results = [&] {
    std::map<std::string, std::string> found;
    for (const auto& line : exported(folder.path(), "mixed-1")) {
      if (line["metric"] != "time") continue;
      const std::string name = line["case"]["attention"];
      EXPECT_FALSE(found.contains(name)) << "two results of " << name;
      found[name] = line["outcome"].get<std::string>() + line["samples"].dump();
    }
    EXPECT_EQ(found.size(), 3u);
    return found;
  };
  const auto first = results();

  const Ended nothing = run({"--resume"});
  EXPECT_EQ(nothing.exit_code, 0) << "an outcome is a result";
  EXPECT_THAT(nothing.errors, HasSubstr("3 already done"));

  const Ended retried = run({"--resume", "mixed-1", "--retry", "error, oom"});
  EXPECT_EQ(retried.exit_code, 1) << retried.errors;
  EXPECT_THAT(retried.errors, HasSubstr("2 already done"));
  EXPECT_THAT(retried.errors, HasSubstr("attention=test_throws: error"));
  EXPECT_EQ(results().at("test_right"), first.at("test_right")) << "not measured again";

  const Ended rerun = run({"--rerun", "--filter", "attention == test_right"});
  EXPECT_EQ(rerun.exit_code, 0) << rerun.errors;
  EXPECT_NE(results().at("test_right"), first.at("test_right")) << "measured again";
  EXPECT_THAT(assay(folder.path(), {"list", "runs"}).output, Not(HasSubstr("mixed-2")));

  const Ended misspelt = run({"--retry", "timout"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.errors, HasSubstr("did you mean 'timeout'"));
  EXPECT_EQ(run({"--retry", "oom", "--rerun"}).exit_code, 2);
  const Folder elsewhere;
  EXPECT_EQ(assay(elsewhere.path(), {"run", file, "--plugin", plugin, "--rerun"}).exit_code, 2);
}

// The command that `assay show` prints measures the case again.
std::string command_of(const Ended& page) {
  const std::size_t heading = page.output.find("  again\n    ");
  EXPECT_NE(heading, std::string::npos) << page.output << page.errors;
  if (heading == std::string::npos) return "false";
  const std::size_t begin = heading + std::string("  again\n    ").size();
  return page.output.substr(begin, page.output.find('\n', begin) - begin);
}

TEST(RepeatTest, TheShownCommandMeasuresTheSameCaseAgain) {
  const Folder folder;
  const std::string text =
      "experiment: repeat\nworkload: attention\n"
      "matrix: {attention: [naive, math_libtorch], seq_len: [8, 16]}\n"
      "fixed: {batch: 1, heads: 1, d_head: 8, causal: true}\n"
      "measure: {passes: [forward], warmup: 1, samples: 4}\n";
  const std::string file = folder.write("it's an experiment.yaml", text);
  ASSERT_EQ(assay(folder.path(),
                  {"run", file, "--results", "my results", "--device", "cpu", "--set", "d_head=16"})
                .exit_code,
            0);
  // The measured experiment is repeated, even after its file has changed.
  folder.write("it's an experiment.yaml", "experiment: another\n");
  const Ended page = assay(folder.path(), {"show", "latest", "--case",
                                           "attention == math_libtorch && "
                                           "seq_len == 16",
                                           "--results", "my results"});
  ASSERT_EQ(page.exit_code, 0) << page.errors;
  for (const char* expected :
       {"seq_len = 16", "d_head = 16", "forward time", "median", "n 4", "experiment_sha256",
        "fingerprint", "plugins/attention/libtorch_sdpa.so", "lib/libassay_worker.so",
        "overrides: --set d_head=16",
        "| matrix: {attention: [naive, math_libtorch], seq_len: [8, 16]}"}) {
    EXPECT_THAT(page.output, HasSubstr(expected));
  }
  const std::string command = command_of(page);
  const Ended again = shell(folder, command);
  ASSERT_EQ(again.exit_code, 0) << command << "\n" << again.errors;

  const auto cases = [&](const std::string& run) {
    std::map<std::string, nlohmann::json> parameters;
    const Ended ended = assay(folder.path(), {"export", run, "--results", "my results"});
    std::istringstream stream(ended.output);
    for (std::string line; std::getline(stream, line);) {
      const auto object = nlohmann::json::parse(line);
      parameters[object["provenance"]["key"]] = object["case"];
    }
    return parameters;
  };
  const auto original = cases("repeat-1");
  const auto repeated = cases("repeat-2");
  EXPECT_EQ(original.size(), 4u);
  ASSERT_EQ(repeated.size(), 1u);
  ASSERT_TRUE(original.contains(repeated.begin()->first));
  EXPECT_EQ(original.at(repeated.begin()->first), repeated.begin()->second);
  EXPECT_EQ(repeated.begin()->second["seq_len"], 16);
}

TEST(RepeatTest, ACaseThatTookTurnsTakesThemAgain) {
  const Folder folder;
  const std::string file =
      folder.write("turns.yaml",
                   "experiment: turns\nworkload: attention\n"
                   "matrix: {seq_len: [8, 16], attention: [naive, math_libtorch, flash_libtorch]}\n"
                   "fixed: {batch: 1, heads: 1, d_head: 8, causal: true, device: cpu}\n"
                   "measure: {passes: [forward], warmup: 1, samples: 4, interleave: attention}\n");
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  const Ended again = shell(folder, command_of(assay(folder.path(), {"show", "turns-1/5"})));
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  const auto turns = [&](const std::string& run) {
    std::map<std::string, nlohmann::json> found;
    for (const auto& line : exported(folder.path(), run)) {
      if (line["case"]["seq_len"] != 16 || !line["provenance"].contains("case")) continue;
      const auto& context = line["provenance"]["case"]["context"];
      EXPECT_TRUE(context["interleaved"].contains("with")) << context["interleaved"];
      found[line["provenance"]["key"]] = context["interleaved"].value("with", nlohmann::json());
    }
    return found;
  };
  EXPECT_EQ(turns("turns-1").size(), 3u);
  EXPECT_EQ(turns("turns-2"), turns("turns-1"));
  EXPECT_EQ(measured(folder, "turns-2"), (std::vector<std::string>{"16", "16", "16"}));
}

// A permission from the environment does not hold for another user who repeats the case.
TEST(RepeatTest, AProgramThatHadLeaveIsGivenItAgain) {
  const Folder folder;
  folder.write("program.yaml",
               "kind: attention\nname: program\ndescription: Tells a time.\n"
               "command: [sh, program.sh]\nworkloads: [attention]\n");
  folder.write("program.sh",
               "echo '{\"series\": {\"pass\": \"forward\", \"metric\": \"time\", \"unit\": \"s\", "
               "\"clock\": \"wall\", \"samples\": [0.01, 0.01]}}'\n");
  folder.write("e.yaml",
               "experiment: leave\nworkload: attention\nmatrix: {attention: [program, naive]}\n"
               "fixed: {batch: 1, heads: 1, seq_len: 8, d_head: 8, causal: true, device: cpu}\n"
               "measure: {passes: [forward], warmup: 1, samples: 2}\n");
  const Ended first = shell(folder, "ASSAY_TRUSTED=$PWD assay run e.yaml --plugin program.yaml");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  const Ended page = assay(folder.path(), {"show", "leave-1/1"});
  EXPECT_THAT(page.output, HasSubstr("leave: ASSAY_TRUSTED"));
  const Ended again = shell(folder, command_of(page));
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  for (const auto& line : exported(folder.path(), "leave-2")) EXPECT_EQ(line["outcome"], "ok");
  EXPECT_THAT(assay(folder.path(), {"show", "leave-2/1"}).output,
              HasSubstr("leave: --allow-external"));
  EXPECT_THAT(command_of(assay(folder.path(), {"show", "leave-1/2"})),
              Not(HasSubstr("--allow-external")));
}

TEST(RepeatTest, ModelsAreTakenAsTheyWereStored) {
  const Folder folder;
  folder.write("mine.yaml", "d_model: 32\nd_ff: 64\nlayers: 1\nheads: 2\nvocab_size: 64\n");
  const std::string file =
      folder.write("e.yaml",
                   "experiment: model\nworkload: model_step\nmatrix: {batch: [1, 2]}\n"
                   "fixed: {model: mine.yaml, seq_len: 8, device: cpu}\n"
                   "measure: {passes: [inference], warmup: 1, samples: 2}\n");
  const Ended first = assay(folder.path(), {"run", file});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  std::filesystem::remove(folder.path() / "mine.yaml");
  std::filesystem::remove(file);
  const Ended again = assay(folder.path(), {"run", "--experiment-of", "model-1", "--case", "2"});
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  const auto lines = exported(folder.path(), "model-2");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0]["case"]["batch"], 2);
  EXPECT_EQ(lines[0]["outcome"], "ok") << lines[0];
}

TEST(RepeatTest, ACommandThatMakesNoSenseSaysWhatWould) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", lengths("8"));
  EXPECT_THAT(assay(folder.path(), {"run", file, "--case", "1"}).errors, HasSubstr("--filter"));
  EXPECT_EQ(assay(folder.path(), {"run", "--experiment-of", "x"}).exit_code, 4);
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  EXPECT_EQ(assay(folder.path(), {"run", file, "--experiment-of", "lengths-1"}).exit_code, 2);
  EXPECT_EQ(assay(folder.path(), {"run", "--experiment-of", "lenghts-1"}).exit_code, 2);
  const Ended none = assay(folder.path(), {"run", "--experiment-of", "latest", "--case", "9"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("has no case '9'"));
}

TEST(ProvenanceTest, ARunThatIsTakenUpElsewhereSaysWhichResultIsFromWhere) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", lengths("8, 16"));
  ASSERT_EQ(shell(folder, "OMP_NUM_THREADS=1 assay run e.yaml --filter seq_len==8").exit_code, 0);
  const std::string again = "OMP_NUM_THREADS=2 NCCL_SECRET=x assay run e.yaml --resume --changed";
  ASSERT_EQ(shell(folder, again).exit_code, 0);
  const std::string first = assay(folder.path(), {"show", "lengths-1/1"}).output;
  const std::string second = assay(folder.path(), {"show", "lengths-1/2"}).output;
  // One variable a line, or a few in one object.
  const auto threads = [](const std::string& count) {
    return ::testing::AnyOf(HasSubstr("OMP_NUM_THREADS: " + count),
                            HasSubstr("\"OMP_NUM_THREADS\":\"" + count + "\""));
  };
  EXPECT_THAT(first, threads("1"));
  EXPECT_THAT(first, HasSubstr("overrides: --filter seq_len==8"));
  EXPECT_THAT(second, threads("2"));
  EXPECT_THAT(second, Not(HasSubstr("--filter")));
  EXPECT_THAT(second, Not(HasSubstr("SECRET")));
  EXPECT_THAT(second.substr(second.find("  again")),
              ::testing::ContainsRegex("env 'OMP_NUM_THREADS=2' [^ ]*assay run "));

  // The same after an export and an import.
  ASSERT_EQ(shell(folder,
                  "assay export lengths-1 --output run.jsonl && assay import run.jsonl "
                  "--results other")
                .exit_code,
            0);
  const auto imported = [&](const char* which) {
    return assay(folder.path(), {"show", which, "--results", "other"}).output;
  };
  const auto without_command = [](const std::string& page) {
    return page.substr(0, page.find("  again"));
  };
  EXPECT_EQ(without_command(imported("lengths-1/1")), without_command(first));
  EXPECT_EQ(without_command(imported("lengths-1/2")), without_command(second));
}

// A limit on the size of files simulates a full disk.
TEST(DatabaseFaultTest, AFullDiskEndsTheRunAndResumeCompletesIt) {
  const Folder folder;
  std::string list = "8";
  for (int length = 16; length <= 128; length += 8) list += ", " + std::to_string(length);
  const std::string file = folder.write("e.yaml", lengths(list));
  ASSERT_EQ(assay(folder.path(), {"plan", file}).exit_code, 0);  // caches the catalogue
  // About a third of 16 cases of at least 30 KB fit into the write-ahead log.
  const Ended full = shell(folder, "ulimit -f 500; assay run e.yaml");
  EXPECT_EQ(full.exit_code, 4) << full.errors << full.output;
  EXPECT_THAT(full.errors, HasSubstr("the run lengths-1 ends here"));
  EXPECT_THAT(full.errors, HasSubstr("--resume lengths-1"));
  const auto kept = measured(folder, "lengths-1");
  EXPECT_GE(kept.size(), 1u);
  EXPECT_LT(kept.size(), 16u);
  const Ended resumed = assay(folder.path(), {"run", file, "--resume", "lengths-1"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr(std::to_string(kept.size()) + " already done"));
  EXPECT_EQ(measured(folder, "lengths-1").size(), 16u);
}

TEST(DatabaseFaultTest, TwoRunsOnOneDatabaseAtOnce) {
  const Folder folder;
  folder.write("a.yaml", lengths("8, 16, 24"));
  folder.write("b.yaml", lengths("8, 16, 24"));
  const Ended both = shell(folder,
                           "assay run a.yaml >a.out 2>&1 & first=$!\n"
                           "assay run b.yaml >b.out 2>&1; second=$?\n"
                           "wait $first && exit $second");
  EXPECT_EQ(both.exit_code, 0) << folder.read("a.out") << folder.read("b.out");
  for (const char* run : {"lengths-1", "lengths-2"}) {
    EXPECT_THAT(measured(folder, run), ElementsAre("8", "16", "24"));
  }
}

}  // namespace
}  // namespace assay::test
