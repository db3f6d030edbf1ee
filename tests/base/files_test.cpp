#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <thread>

#include "base/text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Files, GiveBackWhatWasWritten) {
  const std::string content("line\nbinary \0 and \xff\n", 20);
  ASSERT_TRUE(write_file(path("a"), content));
  EXPECT_EQ(*read_file(path("a")), content);
  ASSERT_TRUE(write_file(path("a"), ""));
  EXPECT_EQ(*read_file(path("a")), "");
}

TEST_F(Files, LeaveNothingElseBehind) {
  ASSERT_TRUE(write_file(path("a"), "1"));
  ASSERT_TRUE(write_file(path("a"), "2"));
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AFailedWriteKeepsWhatWasThere) {
  fs::create_directory(path("folder"));
  const auto written = write_file(path("folder"), "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().exit_code, ExitCode::results_unreadable);
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(write_file(path("missing/a"), "x"));
}

TEST_F(Files, HaveTheModeTheUserAskedFor) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file(path("a"), "x"));
  ::umask(before);
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(Files, ReadingSaysWhatIsWrong) {
  const auto missing = read_file(path("missing"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find(path("missing")), std::string::npos);
  EXPECT_NE(missing.error().text().find("No such file"), std::string::npos);
  EXPECT_FALSE(read_file(folder_.string()));
}

// Opening a pipe waits for the program at its other end.
TEST_F(Files, APipeThatNobodyWritesIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto read = read_file(path("pipe"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("a pipe into which no program writes"), std::string::npos)
      << read.error().text();
}

TEST_F(Files, APipeWithAWriterIsReadToItsEnd) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  // A reader that reads nothing, so that writing may begin before read_file has opened its end.
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  const int out = ::open(path("pipe").c_str(), O_WRONLY);
  ASSERT_GE(reader, 0);
  ASSERT_GE(out, 0);
  const std::string content(200'000, 'x');
  std::thread writer([&] {
    EXPECT_EQ(::write(out, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    ::close(out);
  });
  const auto read = read_file(path("pipe"));
  writer.join();
  ::close(reader);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, content);
}

TEST_F(Files, ReadingStopsAtItsLimit) {
  ASSERT_TRUE(write_file(path("a"), "12345"));
  EXPECT_TRUE(read_file(path("a"), 5));
  EXPECT_FALSE(read_file(path("a"), 4));
  const auto endless = read_file("/dev/zero", 1000);
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().text().find("larger than 1000 B"), std::string::npos);
}

TEST(Sha256, MatchesPublishedValues) {
  // FIPS 180-4 examples.
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Timestamp, IsIso8601InUtc) {
  EXPECT_TRUE(std::regex_match(timestamp_utc(), std::regex(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
}

}  // namespace
}  // namespace assay
