#include <gtest/gtest.h>

#include <filesystem>

#include "cli/render.h"
#include "config/test_catalogue.h"

namespace assay::cli {
namespace {

const std::filesystem::path root = ASSAY_SOURCE_DIR;

Session session() {
  Session session;
  session.installation.data = root;
  session.catalogue = *config::test_environment().catalogue;
  return session;
}

// What is wrong with the report of an experiment, before anything runs; "" when nothing.
std::string objections(const Result<config::Experiment>& experiment) {
  if (!experiment) return experiment.error().text();
  const auto plan = config::expand(*experiment);
  if (!plan) return plan.error().text();
  const auto checked = check_report(session(), *experiment, *plan);
  return checked ? "" : checked.error().text();
}

std::string objections(const std::string& report, const config::Override& given = {}) {
  return objections(config::parse_experiment(
      "experiment: a\nworkload: attention\nmatrix:\n  seq_len: [128, 256]\n"
      "  attention: [naive, flash]\nmeasure: {passes: [forward]}\nreport:\n" +
          report,
      "a.yaml", config::test_environment(), given));
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

TEST(ReportOfAnExperiment, MayNameWhatAnOverrideLeavesOut) {
  const char* const report =
      "  - plot: {x: seq_len, y: {metric: time, pass: forward}, where: {attention: flash}}\n";
  EXPECT_EQ(objections(report), "");
  EXPECT_EQ(objections(report, {{"attention=[naive]"}, {}}), "");
  EXPECT_EQ(objections(report, {{}, {"attention == naive"}}), "");
}

TEST(ReportOfAnExperiment, OfTheShippedOnesIsInOrder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    EXPECT_EQ(
        objections(config::read_experiment(entry.path().string(), config::test_environment())), "")
        << entry.path();
  }
  EXPECT_GE(count, 6u);
}

}  // namespace
}  // namespace assay::cli
