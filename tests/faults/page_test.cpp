// docs/reliability.md agrees with the committed records of these tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "records.h"

namespace assay::faults {
namespace {

const std::filesystem::path root = ASSAY_SOURCE_DIR;

// Every test of this program that needs a row in the page, in order.
std::vector<std::string> fault_tests() {
  std::vector<std::string> tests;
  const auto& program = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const auto& suite = *program.GetTestSuite(i);
    const std::string_view name = suite.name();
    if (name == "Page" || name == "LeftoversTest" || name == "TrialTest") continue;  // no faults
    for (int j = 0; j < suite.total_test_count(); ++j) {
      tests.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  return tests;
}

std::vector<Record> committed_records() {
  auto records = read_records(root / "tests/faults/records/cpu.jsonl");
  for (auto& record : read_records(root / "tests/faults/records/gpu.jsonl")) {
    records.push_back(std::move(record));
  }
  return records;
}

TEST(Page, HasARowForEveryFaultAndNoOther) {
  std::vector<std::string> rows;
  for (const Record& record : committed_records()) rows.push_back(record.test);
  EXPECT_THAT(rows, ::testing::UnorderedElementsAreArray(fault_tests()))
      << "run tools/reliability cpu, and tools/reliability gpu on a machine with two GPUs";
}

TEST(Page, SaysThatNothingWasLost) {
  for (const Record& record : committed_records()) {
    EXPECT_EQ(record.lost, "nothing") << record.test;
    EXPECT_FALSE(record.done.empty() || record.outcome.empty() || record.others.empty())
        << record.test;
  }
}

// With ASSAY_WRITE_DOCS set (tools/reliability) the page is written instead.
TEST(Page, IsWhatTheRecordsSay) {
  const auto file = root / "docs/reliability.md";
  const std::string page = render_page(committed_records(), fault_tests());
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    std::ofstream stream(file);
    stream << page;
    ASSERT_TRUE(stream.flush()) << file;
    return;
  }
  std::ostringstream committed;
  committed << std::ifstream(file).rdbuf();
  EXPECT_EQ(page, committed.str()) << "run tools/reliability page";
}

}  // namespace
}  // namespace assay::faults
