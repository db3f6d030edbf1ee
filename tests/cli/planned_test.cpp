#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/text.h"
#include "cli/metrics.h"
#include "cli/planned.h"
#include "config/shipped_catalogue.h"
#include "config/suite.h"
#include "config/test_catalogue.h"

namespace assay::cli {
namespace {

const std::filesystem::path root = ASSAY_SOURCE_DIR;

Context context() {
  Context context;
  context.installation.data = root;
  context.catalogue = *config::test_environment().catalogue;
  return context;
}

// The mistakes in an experiment that planning reports; "" when there are none.
std::string objections(const Result<Planned>& planned) {
  return planned ? "" : planned.error().text();
}

std::string objections_to(const std::string& text, const config::Override& given = {}) {
  const Context here = context();
  return objections(plan_text(here, text, "a.yaml", here.environment(), given));
}

std::string objections(const std::string& report, const config::Override& given = {}) {
  return objections_to(
      "experiment: a\nworkload: attention\nmatrix:\n  seq_len: [128, 256]\n"
      "  attention: [naive, flash]\nmeasure: {passes: [forward]}\nreport:\n" +
          report,
      given);
}

TEST(ReportOfAnExperiment, IsJudgedByItsAxes) {
  const std::string text = objections(
      "  - table:\n      where: {attention: falsh}\n"
      "      columns: {ms: {metric: time, pass: forward, unit: ms}}\n");
  EXPECT_NE(text.find("a.yaml:9:26: attention 'falsh' does not exist; did you mean 'flash'?"),
            std::string::npos)
      << text;
  EXPECT_NE(objections("  - plot: {x: seq_len, y: {metric: time}, where: {seq_len: 512}}\n")
                .find("seq_len '512' does not exist; known: 128, 256"),
            std::string::npos);
  EXPECT_NE(objections("  - plot: {x: seq_len, y: {metric: time, pass: backward}}\n")
                .find("pass 'backward' does not exist"),
            std::string::npos);
}

TEST(ReportOfAnExperiment, IsToldTheNewNameOfAVariant) {
  EXPECT_THAT(objections("  - plot: {x: seq_len, y: {metric: time}, where: {attention: math}}\n"),
              ::testing::HasSubstr("a.yaml:8:62: attention 'math' does not exist; "
                                   "it is now called 'math_libtorch'"));
  EXPECT_THAT(objections("  - plot: {x: seq_len, y: {metric: time}, where: attention == cudnn}\n"),
              ::testing::HasSubstr("a.yaml:8:50: attention 'cudnn' does not exist; "
                                   "it is now called 'cudnn_libtorch'"));
}

TEST(ReportOfAnExperiment, MayNameWhatAnOverrideLeavesOut) {
  const char* const report =
      "  - plot: {x: seq_len, y: {metric: time, pass: forward}, where: {attention: flash}}\n";
  EXPECT_EQ(objections(report), "");
  EXPECT_EQ(objections(report, {{"attention=[naive]"}, {}}), "");
  EXPECT_EQ(objections(report, {{}, {"attention == naive"}}), "");
}

TEST(ReportOfAnExperiment, MayNameAPassThatAnOverrideLeavesOut) {
  const std::string both =
      "  - table:\n      rows: [seq_len, attention]\n      columns:\n"
      "        there: {metric: time, pass: forward, unit: ms}\n"
      "        back: {metric: time, pass: backward, unit: ms}\n";
  const std::string before =
      "experiment: a\nworkload: attention\n"
      "matrix: {seq_len: [1, 2], attention: [naive, flash]}\n";
  const config::Override narrowed{{"measure.passes=[forward]"}, {}};
  const std::string named = before + "measure: {passes: [forward, backward]}\nreport:\n" + both;
  EXPECT_EQ(objections_to(named, narrowed), "");
  EXPECT_EQ(objections_to(before + "report:\n" + both, narrowed), "")
      << "the workload's usual passes";
  EXPECT_NE(objections_to(before + "measure: {passes: forward}\nreport:\n" + both), "");
}

const char* const over_length_only =
    "  - table:\n      rows: [seq_len]\n"
    "      columns:\n        ms: {metric: time, pass: forward, unit: ms, stat: [mean, std]}\n";

TEST(ReportOfAnExperiment, NamesWhateverTellsItsResultsApart) {
  EXPECT_EQ(objections(over_length_only),
            "a.yaml:11:13: 'ms' of this table would show several results in one place: it does not "
            "name attention (naive, flash); add attention to its `rows`, pool its values with "
            "`pool: [attention]`, or choose one with `where`");
  EXPECT_EQ(objections("  - plot: {x: seq_len, y: {metric: time}, series: [attention]}\n"), "");
  EXPECT_EQ(
      objections("  - plot: {x: seq_len, y: {metric: time}}\n").find("a.yaml:8:11: this plot"), 0u);
  EXPECT_EQ(objections(over_length_only, {{}, {"attention == naive"}}), "");
  // Naming one of two zipped axes is enough.
  EXPECT_EQ(objections_to("experiment: a\nworkload: attention\n"
                          "matrix: {seq_len: [128, 256], attention: [naive, flash]}\n"
                          "zip: [[seq_len, attention]]\n"
                          "measure: {passes: [forward]}\nreport:\n" +
                          std::string(over_length_only)),
            "");
}

// The fields of the presets it names, and what its workload counts.
TEST(ReportOfAnExperiment, MayUseWhatFollowsFromItsAxes) {
  const auto objections_with_rows = [](const std::string& rows) {
    return objections_to(
        "experiment: a\nworkload: model_step\nmatrix: {model: [small, xl]}\n"
        "measure: {passes: [forward]}\nreport:\n  - table:\n      rows: [" +
        rows + "]\n      columns: {ms: {metric: time, unit: ms}}\n");
  };
  EXPECT_EQ(objections_with_rows("model.d_model"), "");
  EXPECT_EQ(objections_with_rows("parameters"), "");
  EXPECT_NE(objections_with_rows("model.vocab_size").find("it does not name model (small, xl)"),
            std::string::npos)
      << "both have one vocabulary";
  EXPECT_NE(objections_with_rows("model.depth").find("axis 'model.depth' does not exist"),
            std::string::npos);
}

TEST(ReportOfAnExperiment, MayLeaveOpenWhatOnlyAnOverrideVaries) {
  const std::string report =
      "  - table:\n      rows: [seq_len, attention]\n"
      "      columns: {ms: {metric: time, pass: forward, unit: ms}}\n";
  EXPECT_EQ(objections(report, {{"repeat=[0, 1]"}, {}}), "");
  EXPECT_EQ(objections(report, {{"attention=[naive, {tiled: {block_m: [16, 32]}}]"}, {}}), "");
  EXPECT_NE(objections(over_length_only, {{"repeat=[0, 1]"}, {}}), "")
      << "the file itself leaves attention open";
}

TEST(ReportOfAnExperiment, OfALayoutIsJudgedWhereTheExperimentNamesIt) {
  const std::string text = objections_to(
      "experiment: a\nworkload: model_step\n"
      "matrix: {model: [small, medium], seq_len: [8, 16]}\n"
      "measure: {passes: [forward]}\nreport:\n  - layout: model_totals\n");
  EXPECT_EQ(text.find("a.yaml:6:5: 'avg_forward_time' of this table would show several results in "
                      "one place: it does not name seq_len (8, 16)"),
            0u)
      << text;
}

TEST(ReportOfAnExperiment, OfTheShippedOnesIsInOrder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = read_file(entry.path().string()).value_or("");
    if (config::is_suite(text)) continue;
    ++count;
    Context here = context();
    here.catalogue = config::shipped_catalogue();
    EXPECT_EQ(objections(plan_text(here, text, entry.path().string(), here.environment(), {})), "");
  }
  EXPECT_GE(count, 6u);
}

TEST(ReportOfAnExperiment, IsJudgedBesideTheExperimentsOwnMistakes) {
  EXPECT_EQ(objections_to("experiment: a\nworkload: attention\nreport: [{tabel: {}}]\n"
                          "matrix: {attention: [naiv]}\n"),
            "a.yaml:3:11: block 'tabel' does not exist; did you mean 'table'? known: heading, "
            "prose, table, text, plot, timeline, flame, artefacts, findings, layout\n"
            "a.yaml:4:22: unknown attention 'naiv'; did you mean 'naive'? known: cudnn_libtorch, "
            "efficient_libtorch, flash, flash_libtorch, math_libtorch, naive, strict, tiled");
}

TEST(ReportOfAnExperiment, BesideMistakesMayNameWhatOnlyThePlanKnows) {
  const std::string wrong_axis = "experiment: a\nworkload: attention\nmatrix: {seq_ln: [1]}\n";
  const std::string report =
      "report:\n  - table:\n      rows: [seq_len]\n      where: \"pass == forward\"\n"
      "      columns:\n        ms: {metric: time, pass: forward, unit: ms}\n"
      "        per token: {expr: ms / seq_len}\n";
  EXPECT_EQ(objections_to(wrong_axis + report).find("a.yaml:3:10: unknown name 'seq_ln'"), 0u);
  EXPECT_EQ(objections_to(wrong_axis + report).find('\n'), std::string::npos);
  // Metrics, units and layouts need no plan.
  const std::string text = objections_to(
      wrong_axis + "report:\n  - plot: {x: seq_len, y: {metric: tiem}}\n  - layout: summary\n");
  EXPECT_NE(text.find("a.yaml:5:36: metric 'tiem' does not exist; did you mean 'time'?"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("a.yaml:6:13: layout 'summary' does not exist"), std::string::npos) << text;
}

TEST(ReportOfAnExperiment, IsJudgedThoughNoCaseIsLeft) {
  const std::string text = objections_to(
      "experiment: a\nworkload: attention\nmatrix: {seq_len: [1]}\nexclude: [{seq_len: 1}]\n"
      "report: [{tabel: {}}]\n");
  EXPECT_NE(text.find("a.yaml:4:1: no case of 'a' is left"), std::string::npos) << text;
  EXPECT_NE(text.find("a.yaml:5:11: block 'tabel' does not exist"), std::string::npos) << text;
}

TEST(ReportOfAnExperiment, NamesMetricsOfItsWorkloadOnly) {
  const std::string report = "  - plot: {x: seq_len, y: {metric: parameters}}\n";
  EXPECT_EQ(objections(report).find("a.yaml:8:36: metric 'parameters' does not exist; known: "), 0u)
      << objections(report);
  EXPECT_EQ(objections_to("experiment: a\nworkload: model_step\nmatrix: {seq_len: [8, 16]}\n"
                          "fixed: {model: small}\nmeasure: {passes: [forward]}\nreport:\n" +
                          report),
            "");
}

TEST(Machine, IsOneOfARun) {
  const std::string text =
      "experiment: a\nworkload: attention\nmatrix:\n  seq_len: [1, 2]\n"
      "  machine: [a100, h200]\n";
  EXPECT_EQ(objections_to(text),
            "a.yaml:5:12: machine has 2 values (a100, h200), but a run measures on one machine; "
            "run it on each machine with its own name, `--set machine=a100`, and report the runs "
            "together");
  EXPECT_EQ(objections_to(text, {{"machine=h200"}, {}}), "");
  EXPECT_EQ(objections_to(text, {{}, {"machine == a100"}}), "");
  EXPECT_NE(objections_to(text, {{"machine=[a100, b200]"}, {}}), "");
}

TEST(ShippedExperiment, IsFoundByTheNameItIsListedWith) {
  const auto file = experiment_file(context(), "quickstart");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(*file, (root / "experiments" / "quickstart.yaml").string());
  const auto misspelt = experiment_file(context(), "quikstart");
  ASSERT_FALSE(misspelt);
  const std::string text = misspelt.error().text();
  EXPECT_EQ(text.find("'quikstart' is neither a file nor a shipped experiment; did you mean "
                      "'quickstart'? known: "),
            0u)
      << text;
}

TEST(Metrics, OfSeveralWorkloadsAreNamedOnce) {
  catalogue::Catalogue catalogue = *config::test_environment().catalogue;
  for (auto& plugin : catalogue.plugins) {
    if (plugin.kind == "workload") plugin.metrics.push_back({"flops", "FLOP"});
  }
  std::set<std::string> names;
  for (const MetricInfo& metric : metrics_of_all(catalogue)) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
  }
  EXPECT_EQ(names.count("flops"), 1u);
}

}  // namespace
}  // namespace assay::cli
