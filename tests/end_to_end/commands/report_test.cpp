// Reports of stored runs, made as the pages say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The lines of the first shell block of a page.
std::vector<std::string> commands_of(const std::filesystem::path& page) {
  std::ifstream file(page);
  std::vector<std::string> commands;
  std::string line;
  while (std::getline(file, line) && line != "```sh") continue;
  while (std::getline(file, line) && line != "```") commands.push_back(line);
  return commands;
}

Ended in_a_shell(const std::filesystem::path& folder, const std::string& command) {
  return program(folder, {"sh", "-c", "PATH=" ASSAY_BUILD_DIR "/bin:$PATH; " + command});
}

std::string results_of(const std::string& experiment) {
  return ASSAY_SOURCE_DIR "/reports/h200/" + experiment + "/results.jsonl";
}

TEST(ReportCommand, OfTheReferenceReportsPageWorks) {
  const Folder folder;
  std::filesystem::create_directory_symlink(ASSAY_SOURCE_DIR "/reports", folder.path() / "reports");
  const auto commands = commands_of(ASSAY_SOURCE_DIR "/reports/README.md");
  ASSERT_GE(commands.size(), 3u);
  for (const std::string& command : commands) {
    const Ended ended = in_a_shell(folder.path(), command);
    EXPECT_EQ(ended.exit_code, 0) << command << "\n" << ended.errors;
  }
  std::string report;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.path() / "results/model_timing-1")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("report-model_totals-filter-")) {
      report = folder.read("results/model_timing-1/" + name);
    }
  }
  EXPECT_THAT(report, HasSubstr("avg_forward_time"));
  EXPECT_THAT(report, HasSubstr("**overrides**: --filter seq_len == 256"));
  EXPECT_THAT(report, Not(HasSubstr("was added")));
}

// The catalogue's A6.
TEST(ReportCommand, ShowsTwoMachinesInOneTable) {
  const Folder folder;
  for (int machine = 0; machine < 2; ++machine) {
    const Ended ended = assay(folder.path(), {"import", results_of("mixed_precision")});
    ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  }
  const Ended ended =
      assay(folder.path(), {"report", "mixed_precision-1", "mixed_precision-2", "--layout",
                            "two_machines_precision", "--filter", "seq_len == 256"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::regex two_cells_of_two("\n2.7B(†)? +[0-9.,]+ / [0-9.]+(†)? +[0-9.]+ / ");
  EXPECT_TRUE(std::regex_search(ended.output, two_cells_of_two)) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("report: results/mixed_precision-1/report-two_machines_"
                                      "precision-with-mixed_precision-2-filter-"));
}

// The catalogue's A9, with a smaller model.
TEST(ReportCommand, ShowsCompiledModelsByTheirLayout) {
  const Folder folder;
  const Ended ran =
      assay(folder.path(),
            {"run", "compiled_model", "--set", "model=toy", "--set", "seq_len=16", "--set",
             "compile=[eager]", "--set", "precision=[bf16]", "--set", "measure.warmup=1", "--set",
             "measure.samples=2", "--device", "cpu", "--filter", "attention == naive"});
  ASSERT_EQ(ran.exit_code, 0) << ran.errors;
  const Ended ended = assay(folder.path(), {"report", "latest", "--layout", "compiled_models",
                                            "--filter", "precision == bf16 && attention == naive"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("eager_forward_ms"));
  EXPECT_THAT(ended.output, HasSubstr("eager_full_step_ms"));
}

TEST(ReportCommand, OffersTheNearestLayoutAndLeavesTheReportAlone) {
  const Folder folder;
  ASSERT_EQ(assay(folder.path(), {"import", results_of("quickstart")}).exit_code, 0);
  ASSERT_EQ(assay(folder.path(), {"report"}).exit_code, 0);
  const std::string before = folder.read("results/quickstart-1/report.md");
  const Ended ended = assay(folder.path(), {"report", "--layout", "model_totls"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("there is no layout 'model_totls'; did you mean "
                                      "'model_totals'? known: "));
  EXPECT_EQ(folder.read("results/quickstart-1/report.md"), before);
}

// The report names the passes that it leaves out; their results are stored all the same.
TEST(ReportCommand, OfARunOfFewerPassesIsMade) {
  const Folder folder;
  const Ended ended =
      assay(folder.path(), {"run", "quickstart", "--device", "cpu", "--set",
                            "architecture=[swiglu]", "--set", "attention=[naive]", "--set",
                            "precision=[fp32]", "--set", "measure.passes=[train_step]", "--set",
                            "measure.warmup=1", "--set", "measure.samples=2"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_TRUE(std::regex_search(ended.output, std::regex("\nswiglu(†| )+naive +fp32 +[0-9.]+ ± ")))
      << ended.output;
  EXPECT_THAT(folder.read("results/quickstart-1/report.md"), Not(HasSubstr("could not be made")));
}

}  // namespace
}  // namespace assay::test
