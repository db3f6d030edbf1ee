// What a case has recorded, on its way through report, export and import.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/database/database.h"
#include "store/records/json.h"
#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

store::CaseResult case_in(const Folder& folder, const std::string& results) {
  auto database =
      store::Database::open(folder.path() / results / "assay.db", store::Access::read_only);
  auto run = database->load_run(**database->latest_run());
  EXPECT_EQ(run->cases.size(), 1u);
  return std::move(run->cases.front());
}

TEST(RecordedExchange, WordsLanesAndFilesArriveElsewhere) {
  const Folder folder;
  const Ended run = assay(
      folder.path(), {"run",
                      folder.write("e.yaml",
                                   "experiment: recorded\nworkload: recording\nmeasure: {passes: "
                                   "[step], warmup: 1, samples: 2, phases: true}\n"),
                      "--plugin", fixture("recording")});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const store::CaseResult recorded = case_in(folder, "results");
  const std::string report = folder.read("results/recorded-1/report.md");
  EXPECT_THAT(report, HasSubstr("[trace.json](" + recorded.artefacts.front().file + ")"));
  EXPECT_THAT(report, HasSubstr("### Phases"));
  const Ended shown = assay(folder.path(), {"show", "recorded-1/1"});
  EXPECT_THAT(shown.output, HasSubstr(recorded.artefacts.front().sha256));
  EXPECT_THAT(shown.output, HasSubstr("step dtype of layer 1: float32"));

  ASSERT_EQ(assay(folder.path(), {"export", "recorded-1", "--output", "out.jsonl"}).exit_code, 0);
  const Ended imported = assay(folder.path(), {"import", "out.jsonl", "--results", "elsewhere"});
  ASSERT_EQ(imported.exit_code, 0) << imported.errors;
  EXPECT_EQ(imported.errors, "");
  const store::CaseResult arrived = case_in(folder, "elsewhere");
  EXPECT_EQ(to_json(arrived).dump(), to_json(recorded).dump());
  EXPECT_EQ(folder.read("elsewhere/recorded-1/" + arrived.artefacts.front().file),
            folder.read("results/recorded-1/" + recorded.artefacts.front().file));

  folder.write("out.jsonl.artefacts/" + recorded.artefacts.front().file.substr(10), "changed");
  const Ended altered = assay(folder.path(), {"import", "out.jsonl", "--results", "third"});
  EXPECT_EQ(altered.exit_code, 0);
  EXPECT_THAT(altered.errors, HasSubstr("a file of the run is missing: trace.json"));
  EXPECT_THAT(case_in(folder, "third").artefacts, SizeIs(2));
  const Ended again = assay(folder.path(), {"report", "latest", "--results", "third"});
  EXPECT_THAT(folder.read("third/recorded-1/report.md"), HasSubstr("trace.json (not here)"));
}

TEST(RecordedExchange, FilesGoWithTheirRun) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", "experiment: recorded\nworkload: recording\nmeasure: {passes: [plan]}\n");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(assay(folder.path(), {"run", file, "--plugin", fixture("recording")}).exit_code, 0);
  }
  EXPECT_THAT(folder.read("results/recorded-1/report.md"),
              HasSubstr("**not timed**: plan: run once and recorded"));
  const Ended removed = assay(folder.path(), {"rm", "recorded-1"});
  EXPECT_EQ(removed.exit_code, 0) << removed.errors;
  EXPECT_THAT(removed.output, HasSubstr("removed recorded-1 and 2 files"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "results/recorded-1/artefacts"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "results/recorded-2/artefacts"));
  EXPECT_EQ(assay(folder.path(), {"rm", "recorded-1"}).exit_code, 2);
  EXPECT_THAT(assay(folder.path(), {"list", "runs"}).output,
              ::testing::Not(HasSubstr("recorded-1 ")));
}

TEST(RecordedExchange, ObserversAreListedAndShownWithTheirMetrics) {
  const Folder folder;
  EXPECT_THAT(assay(folder.path(), {"list", "observer", "--plugin", fixture("recording")}).output,
              HasSubstr("fresh_counting"));
  const Ended shown =
      assay(folder.path(), {"show", "observer/counting", "--plugin", fixture("recording")});
  EXPECT_THAT(shown.output, HasSubstr("metrics beside observed_time"));
  EXPECT_THAT(shown.output, HasSubstr("seen [count]"));
}

// The report of an experiment knows the metrics of the observers that it asks for, and no others.
TEST(RecordedExchange, AReportMayShowWhatItsObserversRecord) {
  const Folder folder;
  const std::string report =
      "report:\n  - table: {rows: part, columns: {seen: {metric: seen, format: plain}}}\n";
  const std::string experiment =
      "experiment: recorded\nworkload: recording\nmeasure: {passes: [step]}\n";
  const auto planned = [&](const std::string& observe) {
    return assay(folder.path(), {"plan", folder.write("e.yaml", experiment + observe + report),
                                 "--plugin", fixture("recording")});
  };
  EXPECT_EQ(planned("observe: [counting]\n").exit_code, 0)
      << planned("observe: [counting]\n").errors;
  EXPECT_THAT(planned("").errors, HasSubstr("metric 'seen'"));
}

}  // namespace
}  // namespace assay::test
