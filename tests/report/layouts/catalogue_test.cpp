#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include "base/text.h"
#include "catalogue_page.h"
#include "rendering.h"
#include "source_root.h"
#include "yaml/document.h"

// docs/catalogue.md is made of docs/catalogue.yaml and the kept runs.
namespace assay::report {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;

const std::vector<CatalogueSection>& sections() {
  static const auto read = [] {
    auto all = read_catalogue(source_root / "docs/catalogue.yaml");
    if (!all) ADD_FAILURE() << all.error().text();
    return all ? *all : std::vector<CatalogueSection>();
  }();
  return read;
}

std::vector<CatalogueRow> rows() {
  std::vector<CatalogueRow> all;
  for (const CatalogueSection& section : sections()) {
    all.insert(all.end(), section.rows.begin(), section.rows.end());
  }
  return all;
}

TEST(Documentation, TheCatalogueIsWhatItsDataAndTheKeptRunsGive) {
  const auto kept = kept_runs(source_root / "reports");
  ASSERT_TRUE(kept) << kept.error().text();
  const std::string made = catalogue_page(source_root, sections(), *kept);
  const std::string file = (source_root / "docs/catalogue.md").string();
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file(file, made));
    return;
  }
  const auto text = read_file(file);
  ASSERT_TRUE(text) << text.error().text();
  const auto expected = split(*text, '\n'), lines = split(made, '\n');
  for (std::size_t i = 0; i < std::min(expected.size(), lines.size()); ++i) {
    EXPECT_EQ(lines[i], expected[i]) << "docs/catalogue.md:" << i + 1 << ": run tools/docs";
  }
  EXPECT_EQ(lines.size(), expected.size()) << "run tools/docs";
}

TEST(Catalogue, HasARowForEveryDeliverable) {
  std::vector<std::string> expected, present;
  for (const auto& [section, count] : std::vector<std::pair<char, int>>{{'A', 9},
                                                                        {'B', 8},
                                                                        {'C', 3},
                                                                        {'D', 6},
                                                                        {'E', 12},
                                                                        {'F', 4},
                                                                        {'G', 5},
                                                                        {'H', 6},
                                                                        {'I', 4},
                                                                        {'J', 5}}) {
    for (int i = 1; i <= count; ++i) expected.push_back(section + std::to_string(i));
  }
  EXPECT_EQ(expected.size(), 62u);
  for (const CatalogueRow& row : rows()) {
    if (!row.id.empty()) present.push_back(row.id);
  }
  EXPECT_EQ(present, expected);
}

TEST(Catalogue, HasALayoutATestAndNeedsForEveryRow) {
  for (const CatalogueRow& row : rows()) {
    EXPECT_FALSE(row.golden.empty() && row.tests.empty()) << row.id;
    if (row.id.empty() || row.id == "F4") continue;  // a derivation
    EXPECT_FALSE(row.layouts.empty()) << row.id;
    EXPECT_FALSE(row.needs.empty()) << row.id;
  }
}

TEST(Catalogue, NamesEveryLayoutAndEveryGoldenTable) {
  std::set<std::string> layouts, golden, shipped, folders;
  for (const CatalogueRow& row : rows()) {
    layouts.insert(row.layouts.begin(), row.layouts.end());
    golden.insert(row.golden.begin(), row.golden.end());
  }
  for (const auto& [name, path] : yaml::documents_below(source_root / "configs/layouts")) {
    shipped.insert(name);
  }
  for (const auto& entry : fs::directory_iterator(source_root / "tests/golden")) {
    if (entry.is_directory()) folders.insert(entry.path().filename());
  }
  EXPECT_EQ(layouts, shipped);
  EXPECT_EQ(golden, folders);
}

TEST(Catalogue, LinksLeadSomewhere) {
  const auto page = read_file((source_root / "docs/catalogue.md").string());
  ASSERT_TRUE(page) << page.error().text();
  static const std::regex link("\\]\\(([^)#]*)(#[^)]*)?\\)");
  std::size_t count = 0;
  for (std::sregex_iterator at(page->begin(), page->end(), link), end; at != end; ++at, ++count) {
    EXPECT_TRUE(fs::exists(source_root / "docs" / (*at)[1].str())) << (*at)[1];
  }
  EXPECT_GT(count, 150u);
}

// Two sizes and two passes are asked for.
CatalogueRow two_by_two() {
  CatalogueRow row;
  row.needs = {{{{"metric", {{"time"}}},
                 {"model", {{"small"}, {"xl", "xl-2026"}}},
                 {"pass", {{"forward"}, {"backward"}}}},
                1}};
  return row;
}

KeptRun kept_as(const std::string& experiment, const std::string& csv,
                const std::string& cpu = "A") {
  auto run = std::make_shared<store::Run>(run_of(csv));
  run->info.experiment = experiment;
  run->info.first.machine = {{"cpu", cpu}};
  return {"box", experiment, run,
          std::make_shared<const Records>(std::vector<Source>{Source(run.get())})};
}

std::vector<std::string> names_of(const Coverage& coverage) {
  std::vector<std::string> names;
  for (const KeptRun* run : coverage.runs) names.push_back(run->folder);
  return names;
}

using Words = std::vector<std::string>;

TEST(CatalogueCoverage, NamesTheValuesWithoutAResult) {
  const std::vector<KeptRun> kept = {
      kept_as("a",
              "model,pass,time.mean [s]\nsmall,forward,1\nsmall,backward,1\nxl-2026,forward,1\n"
              "medium,forward,1\nmedium,backward,1\n")};
  const Coverage coverage = coverage_of(two_by_two(), kept);
  EXPECT_EQ(coverage.needed, 4u);
  EXPECT_EQ(coverage.found, 3u);
  EXPECT_EQ(coverage.missing, (Words{"model xl or xl-2026 × pass backward"}));
  EXPECT_EQ(coverage_of(two_by_two(), {kept_as("b",
                                               "model,pass,time.mean [s]\n"
                                               "small,forward,1\nsmall,backward,1\n")})
                .missing,
            (Words{"model xl or xl-2026"}));
}

TEST(CatalogueCoverage, CountsOutOfMemoryButNoOtherFailure) {
  const Coverage coverage = coverage_of(
      two_by_two(), {kept_as("a",
                             "model,pass,time.mean [s],outcome\nsmall,forward,1,ok\n"
                             "small,backward,1,ok\nxl,forward,,oom\nxl,backward,,crashed\n")});
  EXPECT_EQ(coverage.found, 3u);
  EXPECT_EQ(coverage.out_of_memory, 1u);
  EXPECT_EQ(coverage.missing, (Words{"model xl or xl-2026 × pass backward"}));
}

TEST(CatalogueCoverage, TakesTheNamedExperimentFirstAndNoRunWithoutNeed) {
  const char* const all =
      "model,pass,time.mean [s]\nsmall,forward,1\nsmall,backward,1\nxl,forward,1\nxl,backward,1\n";
  const char* const half = "model,pass,time.mean [s]\nsmall,forward,1\nsmall,backward,1\n";
  CatalogueRow row = two_by_two();
  EXPECT_EQ(names_of(coverage_of(row, {kept_as("half", half), kept_as("all", all)})),
            (Words{"all"}));
  row.experiments = {"half"};
  EXPECT_EQ(names_of(coverage_of(row, {kept_as("half", half), kept_as("all", all)})),
            (Words{"half", "all"}));
}

TEST(CatalogueCoverage, AsksForTwoKindsOfMachine) {
  const char* const all =
      "model,pass,time.mean [s]\nsmall,forward,1\nsmall,backward,1\nxl,forward,1\nxl,backward,1\n";
  CatalogueRow row = two_by_two();
  row.needs.front().machines = 2;
  EXPECT_EQ(coverage_of(row, {kept_as("a", all), kept_as("b", all)}).missing,
            (Words{"a second machine"}));
  const std::vector<KeptRun> kept = {kept_as("a", all), kept_as("b", all, "B")};
  const auto both = coverage_of(row, kept);  // names runs of `kept`
  EXPECT_EQ(both.missing, Words());
  EXPECT_EQ(names_of(both), (Words{"a", "b"}));
}

}  // namespace
}  // namespace assay::report
