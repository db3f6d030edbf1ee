#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample_run.h"
#include "store/database/database.h"
#include "store/database/schema.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;
using testing::sample_case;
using testing::sample_run;
using testing::text_of;

class StoreFiles : public testing::TemporaryFolder {
 protected:
  // The error of opening `path`, which must not change it.
  Error refused(const fs::path& path, Access access) {
    const bool existed = fs::is_regular_file(path);
    const std::string before = existed ? content(path) : std::string();
    const auto database = Database::open(path, access);
    EXPECT_FALSE(database);
    if (database) return {};
    EXPECT_EQ(database.error().exit_code, ExitCode::results_unreadable);
    EXPECT_EQ(database.error().diagnostics.size(), 1u);
    EXPECT_NE(database.error().text().find(path.string()), std::string::npos);
    EXPECT_EQ(fs::is_regular_file(path), existed);
    EXPECT_EQ(existed ? content(path) : before, before);
    return database.error();
  }

  void expect_refused(const fs::path& path, const std::string& why) {
    for (const Access access : {Access::read_only, Access::read_write}) {
      const Error error = refused(path, access);
      EXPECT_NE(error.text().find(why), std::string::npos) << error.text();
    }
  }

  fs::path make_database() {
    const fs::path path = file("assay.db");
    EXPECT_TRUE(Database::open(path, Access::read_write).value().add_run(sample_run()));
    return path;
  }
};

// Root may write everywhere: tests of permissions run as an ordinary user.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() : was_root_(geteuid() == 0) {
    if (was_root_) is_ordinary_ = seteuid(65534) == 0;
  }
  ~AsOrdinaryUser() {
    if (was_root_ && is_ordinary_) is_ordinary_ = seteuid(0) != 0;
  }
  bool is_ordinary() const { return is_ordinary_; }

 private:
  bool was_root_;
  bool is_ordinary_ = true;
};

TEST_F(StoreFiles, OpeningToWriteMakesFolderAndFile) {
  const fs::path path = file("a/b/assay.db");
  EXPECT_TRUE(Database::open(path, Access::read_write));
  EXPECT_TRUE(fs::is_regular_file(path));
  SQLite::Database raw(path.string());
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), newest_schema_version());
  EXPECT_EQ(raw.execAndGet("PRAGMA integrity_check").getString(), "ok");
}

TEST_F(StoreFiles, OpeningToReadMakesNothing) {
  const Error error = refused(file("a/assay.db"), Access::read_only);
  EXPECT_NE(error.text().find("there is no such file"), std::string::npos);
  EXPECT_FALSE(fs::exists(file("a")));
}

TEST_F(StoreFiles, AnEmptyFileBecomesADatabaseOnlyWhenWriting) {
  refused(write("empty.db", ""), Access::read_only);
  EXPECT_TRUE(Database::open(file("empty.db"), Access::read_write));
}

TEST_F(StoreFiles, GarbageIsLeftAlone) {
  expect_refused(write("short.db", "hello"), "not an SQLite database");
  expect_refused(write("text.db", std::string(20'000, 'x')), "not an SQLite database");
  expect_refused(write("head.db", std::string("SQLite format 3\0", 16) + std::string(9'000, 'x')),
                 "not an SQLite database");
}

TEST_F(StoreFiles, AFolderAndAFileInPlaceOfOneAreRefused) {
  fs::create_directory(file("folder.db"));
  expect_refused(file("folder.db"), "it is a folder");
  write("file", "x");
  refused(file("file/assay.db"), Access::read_write);
}

// Opening a pipe waits for the program at its other end.
TEST_F(StoreFiles, APipeInPlaceOfADatabaseIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(file("pipe.db").c_str(), 0600), 0);
  expect_refused(file("pipe.db"), "it is a pipe");
}

TEST_F(StoreFiles, AnotherProgramsDatabaseIsLeftAlone) {
  const fs::path path = file("other.db");
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE bookmarks (url TEXT)");
  expect_refused(path, "another program");
}

TEST_F(StoreFiles, ANewerSchemaIsLeftAlone) {
  const fs::path path = make_database();
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  expect_refused(path, "version 99");
}

TEST_F(StoreFiles, DamageIsAnErrorAndNotACrash) {
  const fs::path path = make_database();
  const std::string whole = content(path);
  std::string zeroed = whole;
  zeroed.replace(4096, whole.size() - 4096, whole.size() - 4096, '\0');
  for (const std::string& damaged : {whole.substr(0, 5000), zeroed}) {
    write("damaged.db", damaged);
    auto database = Database::open(file("damaged.db"), Access::read_only);
    const Error error = database ? database->load_run("model_timing-1").error() : database.error();
    EXPECT_EQ(error.exit_code, ExitCode::results_unreadable) << error.text();
    EXPECT_EQ(content(file("damaged.db")), damaged);
  }
}

TEST_F(StoreFiles, RowsThatNobodyWroteAreAnError) {
  for (const char* change :
       {"UPDATE cases SET outcome = 'fine'", "UPDATE cases SET parameters = 'x'",
        "UPDATE cases SET parameters = '{\"a\": []}'", "UPDATE runs SET overrides = '[1]'",
        "UPDATE series SET samples = x'00'"}) {
    fs::remove(file("assay.db"));
    const fs::path path = make_database();
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(change);
    const auto run = Database::open(path, Access::read_only).value().load_run("model_timing-1");
    ASSERT_FALSE(run) << change;
    EXPECT_EQ(run.error().exit_code, ExitCode::results_unreadable);
  }
}

// Finds the eight bytes of a sample in the file and flips one bit of them.
void flip_a_bit(const fs::path& path, double sample) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string_view wanted(reinterpret_cast<const char*>(&sample), sizeof sample);
  const std::size_t place = bytes.find(wanted);
  ASSERT_NE(place, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(place + 4));
  file.put(static_cast<char>(bytes[place + 4] ^ 0x10));
}

TEST_F(StoreFiles, ABitThatFlippedOnTheDiskIsNeverShownAsATime) {
  constexpr double sample = 0.00123456789;
  CaseResult measured = sample_case(9);
  measured.series[0].samples = {0.001, sample, 0.0015};
  CaseResult imported = sample_case(10);
  imported.series[0].samples.clear();
  imported.series[0].statistics = {{"mean", 0.5}};
  const fs::path path = file("assay.db");
  {
    Database database = Database::open(path, Access::read_write).value();
    Run run = sample_run();
    run.cases = {measured, imported};
    ASSERT_TRUE(database.add_run(run));
  }
  const auto series_of = [&](std::size_t which) {
    const auto run = Database::open(path, Access::read_only).value().load_run("model_timing-1");
    EXPECT_TRUE(run) << run.error().text();
    return run ? run->cases.at(which).series : std::vector<Series>(1);
  };
  EXPECT_EQ(series_of(0)[0].samples, measured.series[0].samples);
  EXPECT_EQ(series_of(1)[0].statistics.at("mean"), 0.5);

  flip_a_bit(path, sample);
  EXPECT_EQ(series_of(0)[0].outcome, Outcome::error);
  EXPECT_NE(series_of(0)[0].reason.find("checksum"), std::string::npos);
  EXPECT_TRUE(series_of(0)[0].samples.empty());
  EXPECT_EQ(series_of(0)[1].outcome, measured.series[1].outcome) << "its neighbour is whole";

  SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE statistics SET value = 0.25");
  EXPECT_EQ(series_of(1)[0].outcome, Outcome::error);
  EXPECT_TRUE(series_of(1)[0].statistics.empty());

  SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE series SET checksum = NULL");  // as an earlier version stored it
  EXPECT_EQ(series_of(1)[0].statistics.at("mean"), 0.25);
}

// A limit of nothing on file sizes stands for a full disk.
TEST_F(StoreFiles, AFullDiskCanBeReadFrom) {
  const fs::path path = make_database();
  fs::create_directory(file("with_log"));
  const fs::path with_log = file("with_log/assay.db");
  {
    Database database = Database::open(path, Access::read_write).value();
    ASSERT_TRUE(database.record_case("model_timing-1", sample_case(9)));
    ASSERT_GT(fs::file_size(path.string() + "-wal"), 0u);
    fs::copy(path, with_log);
    fs::copy(path.string() + "-wal", with_log.string() + "-wal");
  }
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{0, before.rlim_max};
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string> problems;
  std::vector<std::size_t> cases;
  setrlimit(RLIMIT_FSIZE, &none);
  for (const fs::path& each : {path, with_log}) {
    auto database = Database::open(each, Access::read_only);
    const auto run = database ? database->load_run("model_timing-1")
                              : Result<Run>(tl::unexpected(database.error()));
    problems.push_back(run ? "" : run.error().text());
    cases.push_back(run ? run->cases.size() : 0);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(problems, (std::vector<std::string>{"", ""}));
  const std::size_t all = sample_run().cases.size() + 1;
  EXPECT_EQ(cases, (std::vector<std::size_t>{all, all}));
}

TEST_F(StoreFiles, AReadOnlyDatabaseIsReadAndNotWritten) {
  const fs::path path = make_database();
  Database database = Database::open(path, Access::read_only).value();
  RunInfo info;
  info.name = info.experiment = "x";
  for (const Result<void>& written :
       {database.begin_run(info), database.record_case("model_timing-1", sample_case(0)),
        database.finish_run("model_timing-1", "")}) {
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().exit_code, ExitCode::results_unreadable);
  }
  EXPECT_EQ(text_of(database.load_run("model_timing-1").value()), text_of(sample_run()));
}

TEST_F(StoreFiles, AFolderThatCannotBeWrittenIsReadAllTheSame) {
  const fs::path path = make_database();
  fs::permissions(path, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  {
    const AsOrdinaryUser user;
    if (!user.is_ordinary()) GTEST_SKIP() << "there is no ordinary user here";
    auto database = Database::open(path, Access::read_only);
    ASSERT_TRUE(database) << database.error().text();
    EXPECT_EQ(text_of(database->load_run("model_timing-1").value()), text_of(sample_run()));
    const Error error = refused(path, Access::read_write);
    EXPECT_NE(error.text().find("writable"), std::string::npos) << error.text();
    refused(folder_ / "new.db", Access::read_write);
    refused(folder_ / "sub" / "new.db", Access::read_write);
  }
  fs::permissions(folder_, fs::perms(0755));
}

TEST_F(StoreFiles, AFileThatCannotBeWrittenIsNotOpenedToWrite) {
  const fs::path path = make_database();
  fs::permissions(path, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0777));
  const AsOrdinaryUser user;
  if (!user.is_ordinary()) GTEST_SKIP() << "there is no ordinary user here";
  EXPECT_TRUE(Database::open(path, Access::read_only));
  const Error error = refused(path, Access::read_write);
  EXPECT_NE(error.text().find("it is read-only"), std::string::npos) << error.text();
}

TEST_F(StoreFiles, AFileThatCannotBeReadIsRefused) {
  const fs::path path = make_database();
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(path, fs::perms(0000));
  {
    const AsOrdinaryUser user;
    if (!user.is_ordinary()) GTEST_SKIP() << "there is no ordinary user here";
    for (const Access access : {Access::read_only, Access::read_write}) {
      const auto database = Database::open(path, access);
      ASSERT_FALSE(database);
      EXPECT_EQ(database.error().exit_code, ExitCode::results_unreadable);
    }
  }
  fs::permissions(path, fs::perms(0644));
}

// A limit on file sizes stands for a full disk: writing fails in the middle.
TEST_F(StoreFiles, ADiskThatFillsUpCostsOnlyTheCaseThatDidNotFit) {
  const fs::path path = make_database();
  Database database = Database::open(path, Access::read_write).value();
  CaseResult large = sample_case(9);
  large.series[0].samples.assign(1'000'000, 1.0);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1'000'000, before.rlim_max};
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto recorded = database.record_case("model_timing-1", large);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().exit_code, ExitCode::results_unreadable);
  EXPECT_NE(recorded.error().text().find("disk"), std::string::npos) << recorded.error().text();
  EXPECT_EQ(text_of(database.load_run("model_timing-1").value()), text_of(sample_run()));
  EXPECT_TRUE(database.record_case("model_timing-1", sample_case(9)));
}

TEST_F(StoreFiles, NamesWithAMeaningInUrisAreOrdinaryNames) {
  const fs::path path = file("a?b#c%41.db");
  EXPECT_TRUE(Database::open(path, Access::read_write).value().add_run(sample_run()));
  EXPECT_TRUE(Database::open(path, Access::read_only).value().load_run("model_timing-1"));
}

TEST_F(StoreFiles, MigrationRunsTheMissingStepsOnce) {
  SQLite::Database raw(file("m.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const std::vector<MigrationStep> steps{
      {1, "CREATE TABLE a (x)"}, {2, "INSERT INTO a VALUES (2)"}, {3, "INSERT INTO a VALUES (3)"}};
  migrate(raw, std::span(steps).first(2));
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), 2);
  migrate(raw, steps);
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), 3);
  EXPECT_EQ(raw.execAndGet("SELECT group_concat(x) FROM a").getString(), "2,3");
}

TEST_F(StoreFiles, AMigrationThatFailsLeavesTheOldVersion) {
  SQLite::Database raw(file("m.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const std::vector<MigrationStep> steps{{1, "CREATE TABLE a (x)"}};
  migrate(raw, steps);
  const std::vector<MigrationStep> broken{
      {1, "CREATE TABLE a (x)"}, {2, "CREATE TABLE b (x)"}, {3, "nonsense"}};
  EXPECT_THROW(migrate(raw, broken), SQLite::Exception);
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), 1);
  EXPECT_FALSE(raw.tableExists("b"));
}

TEST_F(StoreFiles, StepsHaveNoGaps) {
  int version = 0;
  for (const MigrationStep& step : migration_steps()) EXPECT_EQ(step.version, ++version);
  EXPECT_EQ(newest_schema_version(), version);
}

}  // namespace
}  // namespace assay::store
