// What looks at timed calls found, in tables and layouts.

#include <gtest/gtest.h>

#include "report/data/errors_of_looks.h"
#include "shipped_layout.h"

namespace assay::report {
namespace {

using testing_support::cells_of;
using testing_support::markdown_of;
using testing_support::Rows;
using testing_support::run_of;

void look(store::CaseResult& result, const std::string& pass, double error,
          std::optional<double> textbook) {
  store::TimedLooksFacts& timed = result.facts.verification[pass].timed;
  timed.looks = 3;
  timed.error = error;
  timed.tolerance = 0.01;
  timed.of = "out";
  if (textbook) timed.error_ratio = error / *textbook;
}

TEST(ErrorsOfLooks, AreMetricsOfTheirPasses) {
  store::Run run =
      run_of("norm,pass,time.samples [ms]\nrmsnorm,forward,2\nmine,forward,1\nunseen,forward,1\n");
  look(run.cases[0], "forward", 2e-3, 2e-3);
  look(run.cases[1], "forward", 3e-3, 2e-3);
  EXPECT_EQ(cells_of(markdown_of({&run},
                                 "- table:\n    rows: [norm]\n    columns:\n"
                                 "      error: {metric: timed_error, pass: forward}\n"
                                 "      ratio: {metric: error_ratio, pass: forward}\n")),
            (Rows{{"norm", "error", "ratio"}, {"rmsnorm", "0.002", "1"}, {"mine", "0.003", "1.5"}}))
      << "nobody has looked at the third";
}

TEST(ErrorsOfLooks, WithoutATextbookHaveNoRatio) {
  store::CaseResult result;
  EXPECT_TRUE(errors_of_looks(result).empty());
  look(result, "forward", 1e-3, {});
  const auto found = errors_of_looks(result);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].metric, timed_error_metric);
}

// The errors of the four cases of a table: the layouts show the worst of the two sizes.
void look_at_all(store::Run& run) {
  look(run.cases[0], "forward", 1e-3, 1e-3);
  look(run.cases[1], "forward", 2e-3, 2e-3);
  look(run.cases[2], "forward", 3e-3, 2e-3);
  look(run.cases[3], "forward", 1e-3, 4e-3);
}

Rows shipped(const store::Run& run, const std::string& layout) {
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  inputs.spec =
      *yaml::parse_file(yaml::documents_below(ASSAY_SOURCE_DIR "/configs/layouts").at(layout));
  const auto document = build(inputs);
  return document ? cells_of(*to_markdown(*document)) : Rows{{document.error().text()}};
}

TEST(ErrorsOfLooks, TheWorstSizeStandsInTheLayouts) {
  store::Run attention = run_of(
      "attention,precision,seq_len,d_head,pass,time.samples [ms]\n"
      "naive,bf16,128,64,forward,2\nnaive,bf16,256,64,forward,2\n"
      "flash,bf16,128,64,forward,1\nflash,bf16,256,64,forward,1\n");
  look_at_all(attention);
  EXPECT_EQ(shipped(attention, "attention_errors"),
            (Rows{{"attention", "precision", "forward error", "forward over the textbook's"},
                  {"naive", "bf16", "2.0e-03", "1.00x"},
                  {"flash", "bf16", "3.0e-03", "1.50x"}}));
  store::Run norm = run_of(
      "norm,precision,n_cols,pass,time.samples [ms]\n"
      "rmsnorm,bf16,1024,forward,2\nrmsnorm,bf16,2048,forward,2\n"
      "mine,bf16,1024,forward,1\nmine,bf16,2048,forward,1\n");
  look_at_all(norm);
  EXPECT_EQ(shipped(norm, "norm_errors"),
            (Rows{{"norm", "precision", "forward error", "forward over the textbook's"},
                  {"rmsnorm", "bf16", "2.0e-03", "1.00x"},
                  {"mine", "bf16", "3.0e-03", "1.50x"}}));
}

}  // namespace
}  // namespace assay::report
