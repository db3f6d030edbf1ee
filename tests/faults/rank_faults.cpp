#include "rank_faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "struck_case.h"

namespace assay::faults {

namespace {

std::string killed(int rank) {
  return fmt::format("^rank {} ended with signal 9 \\(SIGKILL: Killed\\)$", rank);
}

std::string late(int rank, int seconds) {
  return fmt::format(
      "^rank {} did not finish within {}(\\.0)? s: it has begun [0-9]+ collectives, "
      "others [0-9]+",
      rank, seconds);
}

std::string who(const RankFault& fault) {
  const bool usual = fault.culprit == 1 && fault.ranks == 2;
  return usual ? "rank 1" : fmt::format("rank {} of {}", fault.culprit, fault.ranks);
}

}  // namespace

std::string RankFault::name() const {
  const bool usual = culprit == 1 && ranks == 2;
  return fault + "_" + moment + (usual ? "" : fmt::format("_by_{}_of_{}", culprit, ranks));
}

std::vector<RankFault> rank_faults(int limit_s) {
  const std::string limit = fmt::format("; the case may take {} s", limit_s);
  const std::string timeout = fmt::format("{} s", limit_s);
  return {
      {"kill", "before", "is killed (signal 9) before a collective", "crashed", killed(1), "3 min"},
      {"kill", "within", "is killed within a collective", "crashed", killed(1), "3 min"},
      {"kill", "after", "is killed after a collective", "crashed", killed(1), "3 min"},
      {"segfault", "within", "writes through a null pointer within a collective", "crashed",
       "^rank 1 ended with signal 11 \\(SIGSEGV: Segmentation fault\\)", "3 min"},
      {"exit", "before", "calls _Exit(0) before a collective", "crashed",
       "^rank 1 ended with exit code 0$", "3 min"},
      {"throw", "before", "throws before a collective", "error", "^rank 1: thrown on purpose$",
       "3 min"},
      {"hang", "before", "never comes to a collective" + limit, "timeout", late(1, limit_s),
       timeout},
      {"hang", "within", "hangs within a collective" + limit, "timeout", late(1, limit_s), timeout},
      {"hang", "after", "hangs after a collective" + limit, "timeout", late(1, limit_s), timeout},
      {"late", "before", "comes 2 s late to a collective", "ok", "^$", "3 min"},
  };
}

std::vector<RankFault> faults_of_other_ranks(int limit_s) {
  const auto dies = [](const std::string& moment, int culprit, int ranks) {
    return RankFault{"kill",
                     moment,
                     moment == "verifying" ? "is killed as what it timed is verified"
                                           : "is killed " + moment + " a collective",
                     "crashed",
                     killed(culprit),
                     "3 min",
                     culprit,
                     ranks};
  };
  const auto hangs = [&](const std::string& moment, int culprit, int ranks) {
    return RankFault{"hang",
                     moment,
                     fmt::format("hangs {} a collective; the case may take {} s", moment, limit_s),
                     "timeout",
                     late(culprit, limit_s),
                     fmt::format("{} s", limit_s),
                     culprit,
                     ranks};
  };
  return {dies("before", 0, 2),    dies("within", 0, 2),    dies("after", 0, 2),
          dies("verifying", 0, 2), dies("verifying", 1, 2), hangs("before", 0, 2),
          hangs("within", 0, 2),   dies("before", 2, 3),    dies("within", 0, 3),
          dies("after", 1, 3),     hangs("within", 2, 3)};
}

std::vector<RankFault> faults_of_a_step() {
  const auto dies = [](const std::string& phase, const std::string& done) {
    return RankFault{"kill", phase, "is killed " + done, "crashed", killed(1), "3 min"};
  };
  return {dies("forward", "in a step's forward"), dies("backward", "in a step's backward"),
          dies("exchange", "as a step's gradients are summed"),
          dies("optimizer", "in a step's optimizer")};
}

namespace {

// Runs the experiment, whose second case of three is the fault's.
void expect_ends_the_second_case(const std::string& group, const RankFault& fault,
                                 const std::string& experiment, const char* plugin,
                                 const std::string& launcher) {
  Trial trial(group);
  trial.folder().write("ranks.yaml", experiment);
  std::vector<std::string> words = {"run", "ranks.yaml", "--plugin", test::fixture(plugin)};
  if (!launcher.empty()) {
    trial.folder().write("launcher.yaml", launcher);
    words.insert(words.end(), {"--launcher", "./launcher.yaml"});
  }
  const End end = trial.run(words);
  // The host and rank 0's store listen, so the search for leftovers had something to find.
  EXPECT_GE(end.listeners, 2u);
  const Struck struck{1, 3, fault.outcome, fault.reason, "", ""};
  const auto result = expect_told_everywhere(trial, end, struck);
  ASSERT_TRUE(result);
  for (const store::Series& series : result->series) {
    const bool times = series.metric == "time" && series.outcome == Outcome::ok;
    EXPECT_TRUE(!times || fault.outcome == "ok") << "the time of rank " << series.rank << " alone";
  }
  // Ranks that waited for the failed one end before the limit.
  if (fault.timeout == "3 min") {
    EXPECT_LT(result->wall_s, 60);
  }
  record_struck(trial, who(fault) + " " + fault.done, *result, struck);
}

}  // namespace

void expect_ends_the_case_for_all(const std::string& device, const std::string& group,
                                  const RankFault& fault, const std::string& launcher) {
  const std::string experiment = fmt::format(
      "experiment: ranks\nworkload: hostile_ranks\n"
      "fixed: {{world_size: {}, device: {}}}\n"
      "measure: {{warmup: 2, samples: 3, timeout: 3 min}}\n"
      "include:\n"
      "  - {{fault: none, culprit: 0}}\n"
      "  - {{fault: {}, moment: {}, culprit: {}, measure.timeout: {}}}\n"
      "  - {{fault: none, culprit: 1}}\n",
      fault.ranks, device, fault.fault, fault.moment, fault.culprit, fault.timeout);
  expect_ends_the_second_case(group, fault, experiment, "hostile_ranks", launcher);
}

void expect_ends_the_step_for_all(const std::string& device, const std::string& group,
                                  const RankFault& fault, const std::string& launcher) {
  const std::string experiment = fmt::format(
      "experiment: ranks\nworkload: model_step\n"
      "fixed: {{model: toy, batch: 2, world_size: {}, device: {}}}\n"
      "measure: {{passes: [train_step], warmup: 1, samples: 2, timeout: 3 min}}\n"
      "include:\n"
      "  - {{communication: hostile_step, seq_len: 8}}\n"
      "  - {{communication: {{hostile_step: {{culprit: {}, phase: {}}}}}, seq_len: 8}}\n"
      "  - {{communication: hostile_step, seq_len: 16}}\n",
      fault.ranks, device, fault.culprit, fault.moment);
  expect_ends_the_second_case(group, fault, experiment, "hostile_step", launcher);
}

}  // namespace assay::faults
