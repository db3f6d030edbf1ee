#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "report/page/report.h"
#include "source_root.h"
#include "store/exchange/gzip.h"
#include "store/exchange/import.h"

namespace assay::report {
namespace {

namespace fs = std::filesystem;

// The calibrations of the same card that are kept in the report's folder, and what the collectives
// took that are kept beside it.
Result<Ceilings> ceilings_beside(const fs::path& kept) {
  const fs::path kept_of_kind = kept.parent_path();
  Ceilings ceilings;
  for (const fs::path& results : {kept / "ceilings.jsonl", kept / "ceilings_of_copies.jsonl",
                                  kept_of_kind / "collectives/results.jsonl",
                                  kept_of_kind / "collective_times/results.jsonl"}) {
    for (const fs::path& file : {results, fs::path(results) += ".gz"}) {
      if (!fs::exists(file)) continue;
      const auto run = store::import_file(file);
      if (!run) return tl::unexpected(run.error());
      ceilings.add(*run);
    }
  }
  return ceilings;
}

// A kept report's runs, and the folder that each one's results are kept in: its own, or those that
// its runs.json names.
struct KeptReport {
  std::deque<store::Run> runs;
  std::vector<fs::path> folders;
};

bool is_kept_report(const fs::path& file) {
  return store::plain_name(file).filename() == "results.jsonl" || file.filename() == "runs.json";
}

Result<KeptReport> read_kept(const fs::path& file) {
  std::vector<fs::path> results = {file};
  if (file.filename() == "runs.json") {
    const auto text = read_file(file.string());
    if (!text) return tl::unexpected(text.error());
    results.clear();
    for (const auto& name : nlohmann::json::parse(*text)) {
      results.push_back(file.parent_path() / name.get<std::string>());
    }
  }
  KeptReport kept;
  for (const fs::path& of_run : results) {
    auto run = store::import_file(of_run);
    if (!run) return tl::unexpected(run.error());
    kept.runs.push_back(std::move(*run));
    kept.folders.push_back(of_run.parent_path());
  }
  return kept;
}

std::string rendered(const KeptReport& kept, const fs::path& folder) {
  Inputs inputs;
  for (const store::Run& run : kept.runs) inputs.sources.emplace_back(&run);
  const auto& written = inputs.sources.front().written;
  if (!written) {
    ADD_FAILURE() << folder << ": " << written.error().text();
    return "";
  }
  inputs.spec = written->report;
  inputs.layouts = source_root / "configs/layouts";
  inputs.folder = folder;
  inputs.metrics = catalogue::common_metrics();
  inputs.ceilings = [&](const store::Run& run) {
    std::size_t number = 0;
    while (&kept.runs[number] != &run) ++number;
    return ceilings_beside(kept.folders[number]);
  };
  const auto document = build(inputs);
  if (document) return *to_markdown(*document);
  ADD_FAILURE() << folder << ": " << document.error().text();
  return "";
}

bool is_made_picture(const std::string& name) {
  static const std::regex pattern("(plot|timeline|flame|table)-[0-9]+\\.(svg|csv|tex)");
  return std::regex_match(name, pattern);
}

// The report and its pictures, without those of an older report.
void write_report(const KeptReport& kept, const fs::path& folder) {
  std::vector<fs::path> old;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (is_made_picture(file.path().filename().string())) old.push_back(file.path());
  }
  for (const fs::path& file : old) fs::remove(file);
  ASSERT_TRUE(write_file((folder / "report.md").string(), rendered(kept, folder)));
}

// With ASSAY_WRITE_DOCS set (tools/docs) the test writes the reports and their pictures instead.
TEST(ReferenceReports, AreWhatTheirResultsGive) {
  const bool write = std::getenv("ASSAY_WRITE_DOCS") != nullptr;
  const fs::path folder = fs::temp_directory_path() / ("assay_kept_" + std::to_string(::getpid()));
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_root / "reports")) {
    if (!is_kept_report(entry.path())) continue;
    ++count;
    const auto results = read_kept(entry.path());
    ASSERT_TRUE(results) << results.error().text();
    if (write) {
      write_report(*results, entry.path().parent_path());
      continue;
    }
    const auto kept = read_file((entry.path().parent_path() / "report.md").string());
    ASSERT_TRUE(kept) << kept.error().text();
    const std::string made = rendered(*results, folder);
    if (made.find("gnuplot is not installed") != std::string::npos) {
      GTEST_SKIP() << "gnuplot is not installed";
    }
    const auto made_lines = split(made, '\n'), kept_lines = split(*kept, '\n');
    for (std::size_t i = 0; i < std::min(made_lines.size(), kept_lines.size()); ++i) {
      ASSERT_EQ(made_lines[i], kept_lines[i]) << entry.path().parent_path() / "report.md"
                                              << ":" << i + 1 << ": run tools/docs";
    }
    EXPECT_EQ(made_lines.size(), kept_lines.size()) << entry.path();
  }
  fs::remove_all(folder);
  EXPECT_GE(count, 5u);
}

// The first table of a text, with line ends.
std::string first_table(const std::string& text) {
  const std::size_t begin = text.find("\n|") + 1;
  return text.substr(begin, text.find("\n\n", begin) - begin);
}

TEST(ReferenceReports, TheTableInTheReadmeIsTheQuickstarts) {
  const auto readme = read_file(source_root / "README.md");
  const auto report = read_file(source_root / "reports/h200/quickstart/report.md");
  ASSERT_TRUE(readme && report);
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    std::string text = *readme;
    const std::string old = first_table(text);
    text.replace(text.find(old), old.size(), first_table(*report));
    ASSERT_TRUE(write_file((source_root / "README.md").string(), text));
    return;
  }
  EXPECT_GT(first_table(*readme).size(), 500u);
  EXPECT_EQ(first_table(*readme), first_table(*report));
}

}  // namespace
}  // namespace assay::report
