// What a plugin does to the process that the next case would share, to its clock and to the way of
// its results.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

struct Told {
  std::string outcome;
  std::string reason;
  std::size_t samples = 0;
  std::map<std::string, std::string> marks;  // to their reasons
};

// One case for each, in this order, in one run; by what it does.
std::map<std::string, Told> measured(const std::vector<std::string>& acts) {
  const Folder folder;
  std::string cases;
  for (const std::string& act : acts) {
    cases += "  - {attention: {neighbour: {does: " + act + "}}}\n";
  }
  const std::string file = folder.write(
      "e.yaml", "experiment: neighbours\nworkload: attention\ninclude:\n" + cases +
                    "fixed: {batch: 1, heads: 1, seq_len: 16, d_head: 8, causal: true, "
                    "precision: fp32, device: cpu}\n"
                    "measure: {passes: [forward], warmup: 1, samples: 3, timeout: 2 min}\n");
  assay(folder.path(), {"run", file, "--plugin", fixture("hostile_neighbours")});
  std::map<std::string, Told> told;
  nlohmann::json context;  // only in the first line of a case
  for (const auto& series : exported(folder.path())) {
    const auto& from = series["provenance"];
    if (from.contains("case")) context = from["case"]["context"];
    if (series["metric"] != "time") continue;
    Told& one = told[series["case"]["attention.does"]];
    one.outcome = series["outcome"];
    one.reason = series.value("reason", "");
    one.samples = series["samples"].size();
    for (const auto& mark : context.value("marks", nlohmann::json::array())) {
      one.marks[mark["mark"]] = mark["reason"];
    }
  }
  return told;
}

// That this process, and so a worker, may use.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

TEST(Neighbours, ASettingThatOutlivesItsCaseIsSaidAndMeetsNobodyElse) {
  std::map<std::string, std::string> words = {
      {"threads", "threads of LibTorch"},
      {"default_dtype", "default dtype: double, was float"},
      {"deterministic", "deterministic algorithms: on, was off"},
      {"grad_mode", "recording of gradients: off, was on"},
      {"tf32", "TF32 in matrix products: on, was off"},
      {"contradiction", "TF32 in matrix products: on by one setting, off by another, was off"},
      {"convolutions", "oneDNN's fp32 in convolutions: bf16"},
      {"environment", "variable NEIGHBOUR is set"},
      {"nccl_variable", "variable NCCL_ALGO is set"},
      {"priority", "priority: nice 19"},
      {"limit", "limits of the process differs"},
      {"folder", "working folder: /, was"},
      {"mask", "mask of file modes"},
      {"denormals", "floating-point mode"},
  };
  if (usable_cores() > 1) words["affinity"] = "cores that the thread may use";
  std::vector<std::string> acts = {"nothing"};
  for (const auto& [act, word] : words) acts.push_back(act);
  const auto told = measured(acts);
  ASSERT_EQ(told.size(), acts.size());
  EXPECT_EQ(told.at("nothing").marks.count("settings"), 0u);
  for (const auto& [act, word] : words) {
    const Told& one = told.at(act);
    EXPECT_EQ(one.outcome, "ok") << act << " " << one.reason;
    EXPECT_EQ(one.samples, 3u) << act;
    ASSERT_EQ(one.marks.count("settings"), 1u) << act;
    const std::string& reason = one.marks.at("settings");
    EXPECT_THAT(reason, HasSubstr("attention neighbour")) << act;
    EXPECT_THAT(reason, HasSubstr(word)) << act;
    // Nothing but its own.
    EXPECT_EQ(reason.find(';'), std::string::npos) << act << ": " << reason;
  }
}

TEST(Neighbours, AThreadLeftBehindIsSaid) {
  const auto told = measured({"sleeper", "nothing"});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told.at("sleeper").outcome, "ok") << told.at("sleeper").reason;
  ASSERT_EQ(told.at("sleeper").marks.count("threads"), 1u);
  EXPECT_THAT(told.at("sleeper").marks.at("threads"),
              HasSubstr("1 thread that attention neighbour"));
  EXPECT_EQ(told.at("nothing").marks.count("threads"), 0u);
}

TEST(Neighbours, WhoeverWritesToWhatJudgesHimHasNoTime) {
  const std::map<std::string, std::string> words = {
      {"operator", "LibTorch's operator aten::erfinv leads elsewhere"},
      {"clock", "assay's own code was written to"},
      {"fault_handler", "a handler of SIGSEGV that is not assay's may fill memory"},
      {"spinner", "worked on after it had returned"},
      {"forged_result", "a plugin wrote to the connection"},
  };
  std::vector<std::string> acts;
  for (const auto& [act, word] : words) acts.push_back(act);
  acts.push_back("nothing");
  const auto told = measured(acts);
  ASSERT_EQ(told.size(), acts.size());
  for (const auto& [act, word] : words) {
    EXPECT_EQ(told.at(act).outcome, "wrong") << act;
    EXPECT_EQ(told.at(act).samples, 0u) << act;
    EXPECT_THAT(told.at(act).reason, HasSubstr(word)) << act;
  }
  EXPECT_EQ(told.at("nothing").outcome, "ok") << told.at("nothing").reason;
}

TEST(Neighbours, TheTokenIsNotInTheEnvironmentOfAPlugin) {
  const auto told = measured({"token"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.at("token").outcome, "ok") << told.at("token").reason;
}

}  // namespace
}  // namespace assay::test
