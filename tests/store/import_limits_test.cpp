// Files that are too long, too wide or inconsistent.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/exchange/import.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

class StoreImportLimits : public testing::TemporaryFolder {};

TEST_F(StoreImportLimits, LongLinesAndFilesAreRefused) {
  const std::string line = "time.mean [s]\n" + std::string(5000, '1') + "\n";
  const Result<Run> long_line = import_text(line, "f.csv", {.line_bytes = 4096});
  ASSERT_FALSE(long_line);
  EXPECT_NE(long_line.error().text().find("f.csv:2:1: the line has 5000 bytes"), std::string::npos);
  const Result<Run> long_file = import_file(write("f.csv", line), {.file_bytes = 1000});
  ASSERT_FALSE(long_file);
  EXPECT_NE(long_file.error().text().find("longer than 1000 bytes"), std::string::npos);
}

TEST_F(StoreImportLimits, AGigabyteAndAnEndlessFileAreRefused) {
  const auto gigabyte = write("f.jsonl", "{");
  std::filesystem::resize_file(gigabyte, std::uintmax_t{1} << 30);  // one line
  const Result<Run> run = import_file(gigabyte);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().text().find("longer than 268435456 bytes"), std::string::npos);
  const Result<Run> endless = import_file("/dev/zero", {.file_bytes = 100'000});
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().text().find("larger than 97.66 KiB"), std::string::npos);
}

TEST_F(StoreImportLimits, AFileOfManyMetricsKeepsTheUnitOfEach) {
  constexpr int metrics = 20'000;
  std::string header, row;
  for (int i = 0; i < metrics; ++i) {
    header += fmt::format("{}m{}.mean [{}]", i == 0 ? "" : ",", i, i % 2 == 0 ? "ms" : "MiB");
    row += i == 0 ? "1" : ",1";
  }
  const Result<Run> read = import_text(header + "\n" + row + "\n", "f.csv");
  ASSERT_TRUE(read) << read.error().text();
  const Run& run = *read;
  ASSERT_EQ(run.cases.size(), 1u);
  ASSERT_EQ(run.cases[0].series.size(), static_cast<std::size_t>(metrics));
  for (const Series& series : run.cases[0].series) {
    const bool is_time = std::stoi(series.metric.substr(1)) % 2 == 0;
    EXPECT_EQ(series.unit, is_time ? "s" : "byte") << series.metric;
  }
}

TEST_F(StoreImportLimits, LinesNumberTheirCasesAllOrNone) {
  const std::string numbered =
      R"({"case":{"n":1},"pass":"a","metric":"b","provenance":{"ordinal":1}})";
  const std::string plain = R"({"case":{"n":2},"pass":"a","metric":"b"})";
  for (const auto& [first, second] : {std::pair(numbered, plain), std::pair(plain, numbered)}) {
    const Result<Run> run = import_text(first + "\n" + second + "\n", "f.jsonl");
    ASSERT_FALSE(run) << "both would be case 1";
    EXPECT_NE(run.error().text().find("f.jsonl:2:1: 'provenance.ordinal' is"), std::string::npos)
        << run.error().text();
  }
}

}  // namespace
}  // namespace assay::store
