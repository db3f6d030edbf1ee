// Runs and exports from before variants had their names: LibTorch's flash was flash.

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::pair<std::string, std::string> old_names[] = {{"math_libtorch", "math"},
                                                         {"flash_libtorch", "flash"}};

std::string with_old_names(std::string text) {
  for (const auto& [now, before] : old_names) {
    for (std::size_t at = text.find(now); at != std::string::npos; at = text.find(now, at)) {
      text.replace(at, now.size(), before);
    }
  }
  return text;
}

std::string variants(const std::string& list) {
  return "experiment: variants\nworkload: attention\n"
         "matrix: {attention: [" +
         list +
         "], seq_len: [8, 16]}\n"
         "fixed: {batch: 1, heads: 1, d_head: 8, causal: true, device: cpu}\n"
         "measure: {passes: [forward], warmup: 1, samples: 5}\n"
         "report:\n  - table: {columns: {ms: {metric: time, pass: forward, unit: ms}}}\n"
         "  - findings: [{speedup: {axis: attention, baseline: math_libtorch}}]\n";
}

const std::string today = variants("naive, math_libtorch, flash_libtorch");

// As an assay of schema 4 would have stored the folder's runs.
void make_older(const Folder& folder) {
  SQLite::Database database((folder.path() / "results/assay.db").string(), SQLite::OPEN_READWRITE);
  std::map<std::int64_t, std::string> keys;
  SQLite::Statement cases(database, "SELECT id, key_text FROM cases");
  while (cases.executeStep()) {
    keys[cases.getColumn(0).getInt64()] = with_old_names(cases.getColumn(1).getString());
  }
  for (const auto& [id, key_text] : keys) {
    SQLite::Statement update(database, "UPDATE cases SET key = ?, key_text = ? WHERE id = ?");
    update.bind(1, sha256_hex(key_text));
    update.bind(2, key_text);
    update.bind(3, id);
    update.exec();
  }
  for (const auto& [now, before] : old_names) {
    const std::string both = "'" + now + "', '" + before + "')";
    database.exec("UPDATE cases SET parameters = replace(parameters, " + both);
    database.exec("UPDATE runs SET experiment_text = replace(experiment_text, " + both +
                  ", overrides = replace(overrides, " + both);
  }
  database.exec("PRAGMA user_version = 4");
}

TEST(RenamedTest, AnOlderRunIsResumed) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", today);
  ASSERT_EQ(
      assay(folder.path(), {"run", file, "--filter", "attention != flash_libtorch"}).exit_code, 0);
  make_older(folder);
  const Ended again = assay(folder.path(), {"run", file, "--resume"});
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("4 cases, 4 already done"));
  EXPECT_THAT(again.output, HasSubstr("math_libtorch"));
  const Ended own = assay(folder.path(), {"run", "--experiment-of", "variants-1", "--case",
                                          "attention == math_libtorch && seq_len == 8"});
  EXPECT_EQ(own.exit_code, 0) << own.errors;
  const auto key_of_math = [&](const std::string& run) {
    return time_of(exported(folder.path(), run), "math_libtorch")["provenance"]["key"];
  };
  EXPECT_EQ(key_of_math("variants-2"), key_of_math("variants-1"));
}

TEST(RenamedTest, AnExperimentOfOldNamesIsRefusedWithTheNewOnes) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", variants("naive, math, cudnn"));
  const Ended ended = assay(folder.path(), {"run", file});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("e.yaml:3:29: unknown attention 'math'; it is now called "
                                      "'math_libtorch'"));
  EXPECT_THAT(ended.errors, HasSubstr("e.yaml:3:35: unknown attention 'cudnn'; it is now called "
                                      "'cudnn_libtorch'"));
  const Ended bench = assay(folder.path(), {"bench", "attention", "naive", "efficient"});
  EXPECT_THAT(bench.errors, HasSubstr("there is no attention 'efficient'; it is now called "
                                      "'efficient_libtorch'"));
}

TEST(RenamedTest, FlashOffItsGpuIsNoOtherKernel) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", today);
  const Ended ended = assay(folder.path(), {"run", file, "--set", "attention=flash"});
  EXPECT_THAT(ended.output + ended.errors, HasSubstr("2 unsupported"));
  for (const auto& line : exported(folder.path())) {
    EXPECT_EQ(line["outcome"], "unsupported");
    EXPECT_THAT(line["reason"].get<std::string>(), HasSubstr("LibTorch's is flash_libtorch"));
  }
}

TEST(RenamedTest, AnOlderRunIsComparedAndABaseline) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", today);
  ASSERT_EQ(assay(folder.path(), {"run", file, "--save-baseline", "main"}).exit_code, 0);
  make_older(folder);
  const Ended ended = assay(folder.path(), {"run", file, "--baseline", "main"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("verdict"));
  const Ended both = assay(folder.path(), {"compare", "baseline:main", "latest"});
  EXPECT_EQ(both.exit_code, 0) << both.errors;
  for (const char* name : {"math_libtorch", "flash_libtorch"}) {
    EXPECT_THAT(both.output, HasSubstr(name));
  }
  EXPECT_THAT(both.output, Not(HasSubstr("only"))) << "each case has its like";
}

TEST(RenamedTest, AnOlderExportIsTakenInAndResumed) {
  const Folder folder;
  const std::string file = folder.write("e.yaml", today);
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  make_older(folder);
  {
    // What an older assay stored is exported as it is.
    SQLite::Database database((folder.path() / "results/assay.db").string(),
                              SQLite::OPEN_READWRITE);
    database.exec("PRAGMA user_version = 5");
  }
  std::string older;
  for (nlohmann::json line : exported(folder.path())) {
    EXPECT_NE(line["case"]["attention"], "flash_libtorch");
    line["provenance"].erase("schema");
    older += line.dump() + "\n";
  }
  folder.write("older.jsonl", older);
  const Ended taken = assay(folder.path(), {"import", "older.jsonl", "--results", "elsewhere"});
  ASSERT_EQ(taken.exit_code, 0) << taken.errors;
  const Ended shown =
      assay(folder.path(), {"report", "latest", "--results", "elsewhere", "--output", "-"});
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_THAT(shown.output, HasSubstr("flash_libtorch"));
  EXPECT_THAT(shown.output, Not(HasSubstr("does not exist")));
  const Ended again = assay(folder.path(), {"run", file, "--resume", "--results", "elsewhere"});
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("6 cases, 6 already done"));
}

}  // namespace
}  // namespace assay::test
