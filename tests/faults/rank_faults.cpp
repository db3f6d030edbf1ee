#include "rank_faults.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial.h"

namespace assay::faults {

std::vector<RankFault> rank_faults() {
  const std::string killed = "rank 1 ended with.*SIGKILL";
  const std::string late = "rank 1.*within 12";
  return {
      {"kill", "before", "rank 1 is killed (signal 9) before a collective", "crashed", killed,
       "3 min"},
      {"kill", "within", "rank 1 is killed within a collective", "crashed", killed, "3 min"},
      {"kill", "after", "rank 1 is killed after a collective", "crashed", killed, "3 min"},
      {"segfault", "within", "rank 1 writes through a null pointer within a collective", "crashed",
       "rank 1 ended with.*SIGSEGV", "3 min"},
      {"exit", "before", "rank 1 calls _Exit(0) before a collective", "crashed",
       "rank 1 ended with exit code 0", "3 min"},
      {"throw", "before", "rank 1 throws before a collective", "error", "thrown on purpose",
       "3 min"},
      {"hang", "before", "rank 1 never comes to a collective; the case may take 12 s", "timeout",
       late, "12 s"},
      {"hang", "within", "rank 1 hangs within a collective; the case may take 12 s", "timeout",
       late, "12 s"},
      {"hang", "after", "rank 1 hangs after a collective; the case may take 12 s", "timeout", late,
       "12 s"},
      {"late", "before", "rank 1 comes 2 s late to a collective", "ok", "", "3 min"},
  };
}

void expect_ends_the_case_for_all(const std::string& device, const std::string& group,
                                  const RankFault& fault) {
  Trial trial(group);
  trial.folder().write("ranks.yaml",
                       fmt::format("experiment: ranks\nworkload: hostile_ranks\n"
                                   "fixed: {{world_size: 2, device: {}}}\n"
                                   "measure: {{warmup: 2, samples: 3, timeout: 3 min}}\n"
                                   "include:\n"
                                   "  - {{fault: none, culprit: 0}}\n"
                                   "  - {{fault: {}, moment: {}, measure.timeout: {}}}\n"
                                   "  - {{fault: none, culprit: 1}}\n",
                                   device, fault.fault, fault.moment, fault.timeout));
  const End end = trial.run({"run", "ranks.yaml", "--plugin", test::fixture("hostile_ranks")});
  EXPECT_EQ(end.exit_code, fault.outcome == "ok" ? 0 : 1) << end.output << end.errors;
  trial.expect_sound();

  const auto run = trial.stored();
  ASSERT_EQ(run.cases.size(), 3u) << end.errors;
  const auto& struck = run.cases[1];
  EXPECT_EQ(to_text(struck.outcome), fault.outcome) << struck.reason;
  EXPECT_THAT(struck.reason, ::testing::ContainsRegex(fault.reason));
  // Those that waited for the rank that failed do not wait until the limit.
  if (fault.timeout == "3 min") {
    EXPECT_LT(struck.wall_s, 60);
  }
  for (const int good : {0, 2}) {
    EXPECT_EQ(to_text(run.cases[good].outcome), "ok") << run.cases[good].reason;
  }
  trial.record(fault.done, fmt::format("`{}`", fault.outcome), struck.reason, "2 of 2 ok");
}

}  // namespace assay::faults
