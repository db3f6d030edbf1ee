#include "plugin_faults.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial.h"

namespace assay::faults {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

namespace {

// Verified and timed in at least ten calls.
std::string experiment(const Hostile& hostile, const PluginFault& fault) {
  const bool is_option = fault.more.starts_with("at_call");
  return fmt::format(
      "experiment: faults\nworkload: attention\n"
      "fixed: {{batch: 1, heads: 2, seq_len: 17, d_head: 8, causal: true, precision: fp32, "
      "device: {}}}\n"
      "measure: {{passes: [forward], warmup: 2, samples: 8, timeout: 3 min}}\n"
      "include:\n"
      "  - {{attention: naive}}\n"
      "  - {{attention: {{{}: {{fault: {}{}}}}}{}}}\n"
      "  - {{attention: {{{}: {{fault: none}}}}}}\n",
      hostile.device, hostile.attention, fault.name, is_option ? ", " + fault.more : "",
      is_option || fault.more.empty() ? "" : ", " + fault.more, hostile.attention);
}

std::string samples_of(const store::CaseResult& result) {
  for (const auto& series : result.series) {
    if (series.metric == "time") return std::to_string(series.samples.size());
  }
  return "no series";
}

}  // namespace

void expect_costs_its_case_alone(const Hostile& hostile, const PluginFault& fault) {
  Trial trial(hostile.group);
  trial.environment["ASSAY_HOST_MEMORY_LIMIT"] = "3 GiB";
  trial.folder().write("faults.yaml", experiment(hostile, fault));
  const End end = trial.run({"run", "faults.yaml", "--plugin", test::fixture(hostile.library)});
  const bool fails = fault.outcome != "ok" && fault.outcome != "unsupported";
  EXPECT_EQ(end.exit_code, fails ? 1 : 0) << end.output << end.errors;
  trial.expect_sound();

  const auto run = trial.stored();
  ASSERT_EQ(run.cases.size(), 3u) << end.errors;
  const auto& struck = run.cases[1];
  const std::string outcome(to_text(struck.outcome));
  EXPECT_THAT(outcome, MatchesRegex(fault.outcome)) << struck.reason;
  EXPECT_THAT(struck.reason, ContainsRegex(fault.reason));
  EXPECT_EQ(samples_of(struck), fails && !fault.after_measuring ? "0" : "8");
  for (const int good : {0, 2}) {
    EXPECT_EQ(to_text(run.cases[good].outcome), "ok") << run.cases[good].reason;
    EXPECT_EQ(samples_of(run.cases[good]), "8");
  }
  std::string reason = struck.reason;
  if (!fault.mark.empty()) {
    const std::string marks = struck.context.value("marks", nlohmann::json()).dump();
    EXPECT_THAT(marks, ContainsRegex(fault.mark));
    for (const auto& mark : struck.context.value("marks", nlohmann::json::array())) {
      if (reason.empty()) reason = mark.value("reason", "");
    }
  }
  if (fails) {
    const std::string report = trial.folder().read("results/faults-1/report.md");
    const std::string words =
        struck.reason.substr(0, std::min<std::size_t>(30, struck.reason.size()));
    // Marks of the machine may stand behind it.
    EXPECT_THAT(end.errors, ContainsRegex(": " + outcome + "[, a-z]* [(]"));
    EXPECT_THAT(end.errors, HasSubstr(words));
    if (!fault.after_measuring) {
      EXPECT_THAT(report, HasSubstr(words));
    }
  }
  trial.record(fault.done, fmt::format("`{}`", outcome), reason, "2 of 2 ok");
}

}  // namespace assay::faults
