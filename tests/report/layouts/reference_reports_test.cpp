#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "report/page/report.h"
#include "source_root.h"
#include "store/exchange/gzip.h"
#include "store/exchange/import.h"

namespace assay::report {
namespace {

namespace fs = std::filesystem;

std::string rendered(const store::Run& run, const fs::path& folder) {
  Inputs inputs;
  inputs.sources = {&run};
  const auto& written = inputs.sources.front().written;
  if (!written) return written.error().text();
  inputs.spec = written->report;
  inputs.layouts = source_root / "configs/layouts";
  inputs.folder = folder;
  const auto document = build(inputs);
  return document ? *to_markdown(*document) : document.error().text();
}

TEST(ReferenceReports, AreWhatTheirResultsGive) {
  const fs::path folder = fs::temp_directory_path() / ("assay_kept_" + std::to_string(::getpid()));
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_root / "reports")) {
    if (store::plain_name(entry.path()).filename() != "results.jsonl") continue;
    ++count;
    const auto run = store::import_file(entry.path());
    ASSERT_TRUE(run) << run.error().text();
    const auto kept = read_file((entry.path().parent_path() / "report.md").string());
    ASSERT_TRUE(kept) << kept.error().text();
    const std::string made = rendered(*run, folder);
    if (made.find("gnuplot is not installed") != std::string::npos) {
      GTEST_SKIP() << "gnuplot is not installed";
    }
    const auto made_lines = split(made, '\n'), kept_lines = split(*kept, '\n');
    for (std::size_t i = 0; i < std::min(made_lines.size(), kept_lines.size()); ++i) {
      ASSERT_EQ(made_lines[i], kept_lines[i]) << entry.path().parent_path() / "report.md"
                                              << ":" << i + 1;
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
  EXPECT_GT(first_table(*readme).size(), 500u);
  EXPECT_EQ(first_table(*readme), first_table(*report));
}

}  // namespace
}  // namespace assay::report
