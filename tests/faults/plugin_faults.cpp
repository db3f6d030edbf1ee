#include "plugin_faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "struck_case.h"

namespace assay::faults {

namespace {

// Verified and timed, in at least ten calls.
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
  const Struck struck{
      1, 3, fault.outcome, fault.reason, fault.mark, fault.mark_reason, fault.may_vary};
  const auto result = expect_told_everywhere(trial, end, struck);
  ASSERT_TRUE(result);
  const bool measured = result->outcome == Outcome::ok || fault.after_measuring;
  EXPECT_EQ(samples_of(*result), measured ? "8" : "0");
  const auto run = trial.stored();
  for (const int good : {0, 2}) EXPECT_EQ(samples_of(run.cases[good]), "8");
  record_struck(trial, fault.done, *result, struck);
}

}  // namespace assay::faults
