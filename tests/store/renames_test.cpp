// What earlier schemas called the variants of LibTorch and of the project.

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/case_key.h"
#include "base/text.h"
#include "sample_run.h"
#include "store/database/database.h"
#include "store/exchange/export.h"
#include "store/exchange/import.h"
#include "store/records/suite.h"
#include "store/renames/names_in_text.h"
#include "store/renames/renames.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NewAssignments, AreThoseOfAttentionAlone) {
  EXPECT_EQ(with_new_assignments("attention=flash, causal=true"),
            "attention=flash_libtorch, causal=true");
  EXPECT_EQ(with_new_assignments("attention=flash_hopper seq_len=128"),
            "attention=flash seq_len=128");
  EXPECT_EQ(with_new_assignments("a=1, attention=math"), "a=1, attention=math_libtorch");
  for (const char* same : {"attention=naive", "norm=flash", "xattention=flash", "attention=flashy",
                           "attention.kind=flash", "attention=", "", "flash", "a,  b "}) {
    EXPECT_EQ(with_new_assignments(same), same);
  }
}

TEST(NewWords, FollowTheirKind) {
  EXPECT_EQ(with_new_words("attention cudnn runs on cuda only, this case is on cpu"),
            "attention cudnn_libtorch runs on cuda only, this case is on cpu");
  EXPECT_EQ(
      with_new_words("not given back by attention flash, norm rmsnorm and attention math."),
      "not given back by attention flash_libtorch, norm rmsnorm and attention math_libtorch.");
  for (const char* same : {"LibTorch's flash attention takes fp16", "attention, flash", "flash",
                           "attention  flash", "attention flashy", "attention ", "an é math"}) {
    EXPECT_EQ(with_new_words(same), same);
  }
}

TEST(NewComparisons, StandOnEitherSideAndInLists) {
  EXPECT_EQ(with_new_comparisons("attention == flash && seq_len>=128"),
            "attention == flash_libtorch && seq_len>=128");
  EXPECT_EQ(with_new_comparisons("seq_len<=128&&attention!='cudnn'"),
            "seq_len<=128&&attention!='cudnn_libtorch'");
  EXPECT_EQ(with_new_comparisons("efficient == attention"), "efficient_libtorch == attention");
  EXPECT_EQ(with_new_comparisons("!(attention in [naive, flash,\"math\"])"),
            "!(attention in [naive, flash_libtorch,\"math_libtorch\"])");
  EXPECT_EQ(with_new_comparisons("flash == attention || attention == flash_hopper"),
            "flash_libtorch == attention || attention == flash");
  for (const char* same :
       {"model == flash", "attention == naive", "flash in [attention]", "attention in flash",
        "my_attention == flash", "attention in [", "attention ==", "== flash", "", "'"}) {
    EXPECT_EQ(with_new_comparisons(same), same);
  }
}

TEST(NewVariants, AreRenamedWhereverAnExperimentNamesThem) {
  EXPECT_EQ(with_new_variants(R"(experiment: flash  # LibTorch's flash
title: flash
matrix:
  attention: [naive, flash, 'math', {"flash_hopper": {tile: 64}}, efficient]
  seq_len: [128]
exclude:
  - {precision: fp32, attention: flash}  # é: it has no fp32
fixed: {attention: &one cudnn}
report:
  - table:
      where: "seq_len > 1 && attention != flash"
      rows: [{axis: attention, labels: {flash: Flash, naive: flash}}]
      columns:
        flash: {metric: time, where: {attention: [flash]}, relative_to: {attention: math}}
        gain: {expr: flash / naive}
  - findings: [{speedup: {axis: attention, baseline: flash}}, {speedup: {baseline: math}}]
  - prose: >-
      Only flash
      and math.
)"),
            R"(experiment: flash  # LibTorch's flash
title: flash
matrix:
  attention: [naive, flash_libtorch, 'math_libtorch', {"flash": {tile: 64}}, efficient_libtorch]
  seq_len: [128]
exclude:
  - {precision: fp32, attention: flash_libtorch}  # é: it has no fp32
fixed: {attention: &one cudnn_libtorch}
report:
  - table:
      where: "seq_len > 1 && attention != flash_libtorch"
      rows: [{axis: attention, labels: {flash_libtorch: Flash, naive: flash}}]
      columns:
        flash: {metric: time, where: {attention: [flash_libtorch]}, relative_to: {attention: math_libtorch}}
        gain: {expr: flash / naive}
  - findings: [{speedup: {axis: attention, baseline: flash_libtorch}}, {speedup: {baseline: math_libtorch}}]
  - prose: >-
      Only flash
      and math.
)");
  EXPECT_EQ(with_new_variants("[naive, flash]", "attention"), "[naive, flash_libtorch]");
  EXPECT_EQ(with_new_variants("[naive, flash]", "model"), "[naive, flash]");
  EXPECT_EQ(with_new_variants("attention: [flash", ""), "attention: [flash") << "no YAML";
}

TEST(NewVariants, OfAnEscapedNameAreWrittenAnew) {
  EXPECT_EQ(with_new_variants("a: 1  # one\nattention: \"fl\\x61sh\"\n"),
            "a: 1\nattention: \"flash_libtorch\"\n");
}

CaseResult case_of(std::int64_t ordinal, const std::string& attention) {
  CaseResult result = testing::sample_case(ordinal);
  result.parameters = {{"attention", attention}, {"seq_len", std::int64_t{128}}};
  set_key(result);
  return result;
}

std::string key_of(const std::string& attention) { return case_of(0, attention).key; }

// As an assay of schema 4 stored it: LibTorch's flash and the project's in turns.
Run older_run() {
  Run run = testing::sample_run();
  run.cases = {case_of(0, "naive"), case_of(1, "flash"), case_of(2, "flash_hopper")};
  run.cases[1].facts.interleaved = InterleaveFacts{
      .as = "B", .with = {{{"A", "attention=naive"}, {"C", "attention=flash_hopper"}}}};
  run.cases[1].facts.marks = {{"leak", "", "1 GiB not given back by attention flash"}};
  run.cases[2].reason = "attention flash_hopper has no backward";
  run.cases[2].outcome = Outcome::unsupported;
  run.cases[2].series[1].outcome = Outcome::unsupported;
  run.cases[2].series[1].reason = run.cases[2].reason;
  run.info.first.experiment_text = "experiment: e\nmatrix: {attention: [naive, flash]}  # two\n";
  run.info.first.provenance["experiment_sha256"] = sha256_hex(run.info.first.experiment_text);
  run.info.first.overrides = {"--set attention=[naive, flash]", "--filter attention != cudnn",
                              "--set seq_len=[128]"};
  run.info.sessions[0] = run.info.first;
  run.info.sessions[0].overrides = {"--case " + key_of("flash").substr(0, 7) + ",3",
                                    "--only attention"};
  return run;
}

void expect_new_names(const Run& run) {
  ASSERT_EQ(run.cases.size(), 3u);
  const char* names[] = {"naive", "flash_libtorch", "flash"};
  for (std::size_t i = 0; i < 3; ++i) {
    const CaseResult& result = run.cases[i];
    EXPECT_EQ(result.parameters.at("attention"), Value(std::string(names[i])));
    EXPECT_EQ(result.key_text, case_key_text(result.parameters));
    EXPECT_EQ(result.key, sha256_hex(result.key_text));
    EXPECT_EQ(result.series.at(0).samples, older_run().cases[i].series[0].samples);
  }
  ASSERT_TRUE(run.cases[1].facts.interleaved && run.cases[1].facts.interleaved->with);
  EXPECT_EQ(run.cases[1].facts.interleaved->with->at("C"), "attention=flash");
  EXPECT_EQ(run.cases[1].facts.extra, older_run().cases[1].facts.extra);
  EXPECT_EQ(run.cases[1].facts.marks.at(0).reason,
            "1 GiB not given back by attention flash_libtorch");
  EXPECT_EQ(run.cases[2].reason, "attention flash has no backward");
  EXPECT_EQ(run.cases[2].series.at(1).reason, "attention flash has no backward");
  const Session& first = run.info.first;
  EXPECT_EQ(first.experiment_text,
            "experiment: e\nmatrix: {attention: [naive, flash_libtorch]}  # two\n");
  EXPECT_EQ(first.provenance["experiment_sha256"], sha256_hex(first.experiment_text));
  EXPECT_EQ(first.provenance["source"], older_run().info.first.provenance["source"]);
  EXPECT_THAT(first.overrides,
              ElementsAre("--set attention=[naive, flash_libtorch]",
                          "--filter attention != cudnn_libtorch", "--set seq_len=[128]"));
  EXPECT_THAT(
      run.info.sessions.at(0).overrides,
      ElementsAre("--case " + key_of("flash_libtorch").substr(0, 12) + ",3", "--only attention"));
}

class StoreRenames : public testing::TemporaryFolder {
 protected:
  // A file of schema 4 with these runs.
  std::filesystem::path older_file(const std::vector<Run>& runs) const {
    {
      auto database = Database::open(file("assay.db"), Access::read_write);
      for (const Run& run : runs) EXPECT_TRUE(database->add_run(run));
    }
    SQLite::Database raw(file("assay.db").string(), SQLite::OPEN_READWRITE);
    raw.exec("PRAGMA user_version = 4");
    return file("assay.db");
  }
};

TEST_F(StoreRenames, RowsOfAnOlderSchemaGetTodaysNames) {
  const auto path = older_file({older_run()});
  {
    auto database = Database::open(path, Access::read_only);
    ASSERT_TRUE(database) << database.error().text();
    expect_new_names(database->load_run("model_timing-1").value());
  }
  EXPECT_EQ(SQLite::Database(path.string()).execAndGet("PRAGMA user_version").getInt(), 4);
  for (int again = 0; again < 2; ++again) {
    auto database = Database::open(path, Access::read_write);
    ASSERT_TRUE(database) << database.error().text();
    expect_new_names(database->load_run("model_timing-1").value());
  }
  EXPECT_EQ(SQLite::Database(path.string()).execAndGet("PRAGMA user_version").getInt(), 5);
}

TEST_F(StoreRenames, ACaseMeasuredSinceIsFoundBesideTheOlder) {
  auto database = Database::open(older_file({older_run()}), Access::read_write).value();
  ASSERT_TRUE(database.record_case("model_timing-1", case_of(3, "cudnn_libtorch")));
  ASSERT_TRUE(database.record_case("model_timing-1", case_of(1, "flash_libtorch")));
  const auto recorded = database.recorded_cases("model_timing-1").value();
  EXPECT_EQ(recorded.size(), 4u);
  for (const char* name : {"naive", "flash_libtorch", "flash", "cudnn_libtorch"}) {
    EXPECT_TRUE(recorded.contains(key_of(name))) << name;
  }
  EXPECT_EQ(database.wall_times({key_of("flash")}).value().at(key_of("flash")), 1.25);
}

TEST_F(StoreRenames, WhatIsDamagedOrFromElsewhereStays) {
  Run run = older_run();
  run.cases[1].key = "k";
  const auto path = older_file({run});
  {
    SQLite::Database raw(path.string(), SQLite::OPEN_READWRITE);
    raw.exec("UPDATE cases SET parameters = '[' WHERE ordinal = 2");
    raw.exec("UPDATE runs SET overrides = '['");
  }
  ASSERT_TRUE(Database::open(path, Access::read_write));
  SQLite::Database raw(path.string());
  EXPECT_EQ(raw.execAndGet("SELECT key FROM cases WHERE ordinal = 1").getString(), "k");
  EXPECT_THAT(raw.execAndGet("SELECT key_text FROM cases WHERE ordinal = 1").getString(),
              HasSubstr("flash_libtorch"));
  EXPECT_EQ(raw.execAndGet("SELECT parameters FROM cases WHERE ordinal = 2").getString(), "[");
  EXPECT_EQ(raw.execAndGet("SELECT overrides FROM runs").getString(), "[");
}

ChapterRecord older_chapter(const std::string& text, std::vector<std::string> cases) {
  ChapterRecord chapter;
  chapter.name = "a";
  chapter.experiment_text = text;
  chapter.overrides = {"--set seq_len=128"};
  chapter.report = "- table: {where: {attention: flash}}\n";
  chapter.settings = {{"attention", std::string("flash")}};
  chapter.cases = std::move(cases);
  return chapter;
}

TEST_F(StoreRenames, ASuitesChaptersFollow) {
  Run run = older_run();
  const std::vector<std::string> cases = {key_of("naive"), key_of("flash"), "never measured"};
  const ChapterRecord flash = older_chapter("fixed: {attention: flash}\n", cases);
  const ChapterRecord naive = older_chapter("fixed: {attention: naive}\n", cases);
  run.info.first.provenance["suite"] = to_json(SuiteRecord{"s", "S", "", {flash, naive}});
  auto database = Database::open(older_file({run}), Access::read_write).value();
  const auto suite = suite_of(database.run_info("model_timing-1")->first);
  ASSERT_TRUE(suite);
  const ChapterRecord& chapter = suite->chapters.at(0);
  EXPECT_EQ(chapter.experiment_text, "fixed: {attention: flash_libtorch}\n");
  EXPECT_EQ(chapter.report, "- table: {where: {attention: flash_libtorch}}\n");
  EXPECT_EQ(chapter.settings.at("attention"), Value(std::string("flash_libtorch")));
  EXPECT_THAT(chapter.cases, ElementsAre(key_of("naive"), key_of("flash_libtorch")));
  EXPECT_THAT(suite->chapters.at(1).cases,
              ElementsAre(key_of("naive"), key_of("flash_libtorch"), "never measured"));
}

std::string exported(const Run& run) {
  std::ostringstream out;
  EXPECT_TRUE(export_json_lines(run, out));
  return out.str();
}

// The lines of an assay before schema 5.
std::string older_export(const Run& run) {
  std::istringstream lines(exported(run));
  std::string older;
  for (std::string text; std::getline(lines, text);) {
    nlohmann::ordered_json line = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(line["provenance"]["schema"], 5);
    line["provenance"].erase("schema");
    older += line.dump() + "\n";
  }
  return older;
}

TEST_F(StoreRenames, AnOlderExportGetsTodaysNamesAndAnExportOfTodayKeepsThem) {
  const auto run = import_text(older_export(older_run()), "older.jsonl");
  ASSERT_TRUE(run) << run.error().text();
  expect_new_names(*run);
  const auto again = import_text(exported(*run), "today.jsonl");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(testing::text_of(*again), testing::text_of(*run));
}

TEST_F(StoreRenames, PartOfAnOlderExportIsRenamedToo) {
  std::string text = older_export(older_run());
  text.erase(0, text.find('\n') + 1);
  const auto run = import_text(text, "part.jsonl");
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->cases.back().parameters.at("attention"), Value(std::string("flash")));
  EXPECT_EQ(run->cases[1].parameters.at("attention"), Value(std::string("flash_libtorch")));
}

TEST_F(StoreRenames, FiguresFromElsewhereKeepTheirNames) {
  const auto lines = import_text(
      R"({"case":{"attention":"flash"},"pass":"forward","metric":"time","unit":"s","samples":[1]})",
      "elsewhere.jsonl");
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_EQ(lines->cases[0].parameters.at("attention"), Value(std::string("flash")));
  const auto table = import_text("attention,time.mean [ms]\nflash,1\n", "elsewhere.csv");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->cases[0].parameters.at("attention"), Value(std::string("flash")));
}

}  // namespace
}  // namespace assay::store
