#include "cli/repeat_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/sample_run.h"

#include "base/shell_command.h"

namespace assay::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Lengths 128, 256, 512.
store::Run stored_run_of_three() { return store::testing::sample_run(); }

TEST(RepeatCase, NamesTheRunTheCaseAndWhatItNeeds) {
  store::Run run = stored_run_of_three();
  run.info.first.provenance["plugins"] = {"/home/ann/my plugin.cpp"};
  run.info.first.provenance["allow_external"] = true;
  EXPECT_THAT(repeat_case(run, run.cases[0], "", {}).words,
              ElementsAre("assay", "run", "--experiment-of", "model_timing-1", "--case",
                          run.cases[0].key.substr(0, 12), "--plugin", "/home/ann/my plugin.cpp",
                          "--allow-external"));
  run.info.first.provenance["environment"] = {
      {"OMP_NUM_THREADS", "8"},          {"CUDA_VISIBLE_DEVICES", "0,1"},
      {"NCCL_TOPO_FILE", "topo.xml"},    {"NCCL_VERSION", "2.27"},
      {"NVIDIA_VISIBLE_DEVICES", "all"}, {"NVIDIA_TF32_OVERRIDE", "0"},
      {"ASSAY_TRUSTED", "folder"},       {"PATH", "bin"},
      {"ASSAY_PYTHON", "python3.12"}};
  EXPECT_EQ(repeat_case(run, run.cases[0], "", {}).words[0], "assay")
      << "the session does not say which values are whole";
  run.info.first.provenance["environment_shortened"] = {"NCCL_TOPO_FILE"};
  EXPECT_THAT(
      repeat_case(run, run.cases[0], "", {}).words,
      ElementsAre("env", "ASSAY_PYTHON=python3.12", "CUDA_VISIBLE_DEVICES=0,1",
                  "NVIDIA_TF32_OVERRIDE=0", "OMP_NUM_THREADS=8", "assay", "run", "--experiment-of",
                  "model_timing-1", "--case", run.cases[0].key.substr(0, 12), "--plugin",
                  "/home/ann/my plugin.cpp", "--allow-external"));
  EXPECT_THAT(
      repeat_case(run, run.cases[0], "", {}).notes,
      ElementsAre(
          "also set these, with their folders, which are not stored: NCCL_TOPO_FILE=topo.xml"));
  run.info.first.provenance["environment"].erase("ASSAY_PYTHON");
  EXPECT_THAT(shell_command(repeat_case(run, run.cases[0], "",
                                        {"HOME", "KMP_BLOCKTIME", "LD_LIBRARY_PATH",
                                         "MKL_NUM_THREADS", "OMP_NUM_THREADS", "PATH"})
                                .words),
              HasSubstr("env -u KMP_BLOCKTIME -u MKL_NUM_THREADS 'CUDA_VISIBLE_DEVICES=0,1' "
                        "'NVIDIA_TF32_OVERRIDE=0' 'OMP_NUM_THREADS=8' assay run"))
      << "variables that were not set then are unset";
  run.info.first.provenance.erase("environment");
  run.info.name = "--help";
  EXPECT_THAT(repeat_case(run, run.cases[1], "my results", {}).words,
              ElementsAre("assay", "run", "--experiment-of=--help", "--case",
                          run.cases[1].key.substr(0, 12), "--results", "my results"));
}

// The command line gives permission to all cases, the environment to some.
TEST(RepeatCase, GivesThePermissionThatTheCaseHad) {
  store::Run run = stored_run_of_three();
  EXPECT_THAT(repeat_case(run, run.cases[0], "", {}).words, Not(Contains("--allow-external")));
  run.cases[0].facts.permission = "ASSAY_TRUSTED";
  EXPECT_THAT(repeat_case(run, run.cases[0], "", {}).words, Contains("--allow-external"));
  EXPECT_THAT(repeat_case(run, run.cases[1], "", {}).words, Not(Contains("--allow-external")));
}

// Two interleaved variants at each of two lengths.
store::Run interleaved_run() {
  store::Run run = stored_run_of_three();
  run.cases.clear();
  for (int place = 0; place < 4; ++place) {
    store::CaseResult result = store::testing::sample_case(place / 2);
    result.ordinal = place;
    result.parameters["attention"] = std::string(place % 2 == 0 ? "naive" : "flash");
    if (place % 2 == 0) result.parameters.erase("attention.scale");
    store::set_key(result);
    result.facts.interleaved.emplace();
    result.facts.interleaved->with.emplace();
    result.facts.interleaved->as = place % 2 == 0 ? "A" : "B";
    (*result.facts.interleaved->with)[place % 2 == 0 ? "B" : "A"] =
        place % 2 == 0 ? "attention=flash" : "attention=naive";
    run.cases.push_back(std::move(result));
  }
  return run;
}

std::string choice_in(const RepeatedCase& repeated) {
  const auto option = std::find(repeated.words.begin(), repeated.words.end(), "--case");
  return option == repeated.words.end() ? "" : *(option + 1);
}

TEST(RepeatCase, RepeatsAnInterleavedCaseWithItsGroup) {
  const store::Run run = interleaved_run();
  const auto keys = [&](std::size_t one, std::size_t other) {
    return run.cases[one].key.substr(0, 12) + "," + run.cases[other].key.substr(0, 12);
  };
  EXPECT_EQ(choice_in(repeat_case(run, run.cases[0], "", {})), keys(0, 1));
  EXPECT_EQ(choice_in(repeat_case(run, run.cases[3], "", {})), keys(2, 3));
  EXPECT_THAT(repeat_case(run, run.cases[3], "", {}).notes,
              ElementsAre(HasSubstr("measures the case in turns with the same case as before")));
}

TEST(RepeatCase, SaysThatACaseWithoutItsGroupIsMeasuredApart) {
  store::Run run = interleaved_run();
  run.cases.pop_back();
  EXPECT_EQ(choice_in(repeat_case(run, run.cases[2], "", {})), run.cases[2].key.substr(0, 12));
  EXPECT_THAT(repeat_case(run, run.cases[2], "", {}).notes,
              ElementsAre(HasSubstr("measures the case apart")));
  run.cases[2].facts.interleaved = {.apart = "nothing differs from it in this axis alone"};
  EXPECT_THAT(repeat_case(run, run.cases[2], "", {}).notes, IsEmpty());
}

}  // namespace
}  // namespace assay::cli
