#include "run/schedule/artefacts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/text.h"

namespace assay::run {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* key = "0123456789abcdef";
constexpr std::int64_t mebibyte = 1 << 20;

class Artefacts : public ::testing::Test {
 protected:
  Artefacts() {
    folder_ = fs::temp_directory_path() /
              ("assay_artefacts_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "left/0/1");
  }
  ~Artefacts() override { fs::remove_all(folder_); }

  fs::path left(const std::string& name) const { return folder_ / "left/0/1" / name; }

  store::Artefact announce(const std::string& name) const {
    store::Artefact artefact;
    artefact.pass = "train step";
    artefact.name = name;
    artefact.file = left(name).string();
    artefact.bytes = 3;
    artefact.sha256 = "said";
    return artefact;
  }

  TakenArtefacts take(const std::vector<store::Artefact>& artefacts,
                      std::int64_t limit_bytes = mebibyte) const {
    return take_artefacts(artefacts, key, folder_ / "run", limit_bytes);
  }

  fs::path folder_;
};

TEST_F(Artefacts, AreMovedToTheRunWithTheirOwnSizeAndHash) {
  ASSERT_TRUE(write_file(left("trace.json").string(), "{\"a\": 1}"));
  const TakenArtefacts taken = take({announce("trace.json")});
  ASSERT_EQ(taken.artefacts.size(), 1u);
  EXPECT_EQ(taken.artefacts[0].file, "artefacts/0123456789ab/train_step/0/trace.json");
  EXPECT_EQ(taken.artefacts[0].bytes, 8);
  EXPECT_EQ(taken.artefacts[0].sha256, sha256_hex("{\"a\": 1}"));
  EXPECT_EQ(read_file((folder_ / "run" / taken.artefacts[0].file).string()).value(), "{\"a\": 1}");
  EXPECT_FALSE(fs::exists(left("trace.json")));
}

// Each costs itself alone.
TEST_F(Artefacts, ThatAreNoFilesOrTooLargeAreNamed) {
  ASSERT_TRUE(write_file((folder_ / "secret").string(), "secret"));
  ASSERT_TRUE(write_file(left("good").string(), "good"));
  fs::create_symlink(folder_ / "secret", left("link"));
  ASSERT_EQ(::mkfifo(left("pipe").c_str(), 0600), 0);
  fs::create_directory(left("folder"));
  ASSERT_TRUE(write_file(left("terabyte").string(), ""));
  fs::resize_file(left("terabyte"), std::uintmax_t{1} << 40);
  const TakenArtefacts taken = take({announce("link"), announce("pipe"), announce("folder"),
                                     announce("missing"), announce("terabyte"), announce("good")});
  ASSERT_EQ(taken.artefacts.size(), 1u);
  EXPECT_EQ(taken.artefacts[0].name, "good");
  ASSERT_EQ(taken.marks.size(), 5u);
  EXPECT_THAT(taken.marks[0].reason, HasSubstr("the file 'link' is no regular file"));
  EXPECT_THAT(taken.marks[4].reason, HasSubstr("measure.artefact_limit"));
  EXPECT_TRUE(fs::exists(folder_ / "secret"));
}

TEST_F(Artefacts, BehindALinkAreLeftWhereTheyAre) {
  fs::create_directories(folder_ / "home");
  ASSERT_TRUE(write_file((folder_ / "home/letter").string(), "dear"));
  fs::remove_all(folder_ / "left/0/1");
  fs::create_directory_symlink(folder_ / "home", folder_ / "left/0/1");
  const TakenArtefacts taken = take({announce("letter")});
  EXPECT_TRUE(taken.artefacts.empty());
  EXPECT_THAT(taken.marks.at(0).reason, HasSubstr("behind a link"));
  EXPECT_TRUE(fs::exists(folder_ / "home/letter"));
}

TEST_F(Artefacts, ShareTheLimitOfTheirRank) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(write_file(left(name).string(), std::string(400'000, 'x')));
  }
  store::Artefact of_another = announce("c");
  of_another.rank = 1;
  const TakenArtefacts taken = take({announce("a"), announce("b"), of_another}, 500'000);
  ASSERT_EQ(taken.artefacts.size(), 2u);
  EXPECT_EQ(taken.artefacts[1].rank, 1);
  EXPECT_THAT(taken.marks.at(0).reason, HasSubstr("'b'"));
}

}  // namespace
}  // namespace assay::run
