// `assay new`: its files and that they work. tests/templates builds and tests every template.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run/process/process.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Runs a program in `folder`; fails with its output unless it exits with 0.
void succeed(const std::filesystem::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"env", "-C", folder.string()});
  const auto done = run::capture({words, {}, false});
  ASSERT_TRUE(done.has_value()) << done.error().text();
  ASSERT_TRUE(done->ok()) << done->output << done->errors;
}

// An installed assay, for find_package.
class InstalledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    succeed("/", {ASSAY_CMAKE, "--install", ASSAY_BUILD_DIR, "--prefix", prefix().string()});
  }

  std::filesystem::path prefix() const { return folder_.path() / "installed"; }

  // Configures, builds and tests the project in `source`.
  void build_and_test(const std::filesystem::path& source) const {
    succeed(source, {ASSAY_CMAKE, "-B", "build", "-G", "Ninja", "-DCMAKE_MAKE_PROGRAM=" ASSAY_NINJA,
                     "-DCMAKE_PREFIX_PATH=" + prefix().string()});
    succeed(source, {ASSAY_CMAKE, "--build", "build"});
    succeed(source, {ASSAY_CTEST, "--test-dir", "build", "--output-on-failure"});
  }

  Folder folder_;
};

TEST_F(InstalledTest, AProjectOfItsOwnIsFoundBuiltAndChecked) {
  const Ended written = assay(folder_.path(), {"new", "workload/my_load"});
  ASSERT_EQ(written.exit_code, 0) << written.errors;
  const auto project = folder_.path() / "my_load";
  build_and_test(project);

  const auto program = prefix() / "bin" / "assay";
  succeed(folder_.path(), {program.string(), "list"});
  succeed(project, {ASSAY_CMAKE, "--install", "build"});
  // What a compiled option would be built from.
  for (const char* file : {"lib/assay/plugins/workload/my_load.build.json",
                           "share/assay/plugins/workload/my_load/my_load.cpp",
                           "share/assay/plugins/device/reduce.cuh"}) {
    EXPECT_TRUE(std::filesystem::exists(prefix() / file)) << file;
  }
  const auto listed = run::capture({{program.string(), "show", "workload/my_load"}, {}, false});
  ASSERT_TRUE(listed && listed->ok()) << listed->errors;
  EXPECT_THAT(listed->output, HasSubstr("One product of two square matrices"));
}

TEST_F(InstalledTest, ASourceTreeGetsTheVariantItsCMakeLineAndItsTest) {
  const auto tree = folder_.path() / "tree";
  std::filesystem::create_directories(tree / "plugins");
  std::filesystem::create_directories(tree / "framework" / "sdk" / "assay");
  std::filesystem::copy(ASSAY_SOURCE_DIR "/framework/sdk/assay/plugin.h",
                        tree / "framework" / "sdk" / "assay");
  folder_.write("tree/plugins/CMakeLists.txt", "# attention\n\n# precision\n");
  folder_.write("tree/CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.25)\nproject(tree LANGUAGES CXX)\n"
                "find_package(assay REQUIRED)\nadd_subdirectory(plugins)\n");

  const Ended written = assay(tree / "plugins", {"new", "precision/mine"});
  ASSERT_EQ(written.exit_code, 0) << written.errors;
  EXPECT_THAT(folder_.read("tree/plugins/CMakeLists.txt"),
              HasSubstr("assay_add_plugin(precision mine SOURCES precision/mine/mine.cpp)\n"));
  EXPECT_THAT(folder_.read("tree/tests/plugins/precision_mine_test.cpp"), HasSubstr("TEST(Mine, "));
  build_and_test(tree);
}

// No placeholder of a template is left, for every kind.
class NewKinds : public ::testing::TestWithParam<const char*> {};

TEST_P(NewKinds, TakeTheNameThroughout) {
  const Folder folder;
  const std::string kind = GetParam();
  std::vector<std::string> words = {"new", kind.substr(0, kind.find('.')) + "/my_own"};
  if (kind.ends_with(".cu")) words.emplace_back("--cuda");
  const Ended written = assay(folder.path(), words);
  ASSERT_EQ(written.exit_code, 0) << written.errors;
  const std::string source = kind.ends_with(".cu") ? "my_own.cu" : "my_own.cpp";
  const std::string text = folder.read("my_own/" + source);
  EXPECT_THAT(text, HasSubstr("ASSAY_PLUGIN(MyOwn, \"my_own\""));
  EXPECT_THAT(text, Not(HasSubstr("mine")));
  EXPECT_THAT(text, Not(HasSubstr("Mine")));
  EXPECT_THAT(folder.read("my_own/CMakeLists.txt"),
              HasSubstr("assay_add_plugin(" + words[1].substr(0, words[1].find('/')) +
                        " my_own SOURCES " + source + ")"));
}

INSTANTIATE_TEST_SUITE_P(All, NewKinds,
                         ::testing::Values("attention", "norm", "precision", "communication",
                                           "compile", "workload", "observer", "attention.cu",
                                           "norm.cu"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(New, OverwritesNothing) {
  const Folder folder;
  ASSERT_EQ(assay(folder.path(), {"new", "attention/mine"}).exit_code, 0);
  folder.write("mine/mine.cpp", "changed\n");
  const Ended again = assay(folder.path(), {"new", "attention/mine"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, HasSubstr("mine/mine.cpp already exists"));
  EXPECT_EQ(folder.read("mine/mine.cpp"), "changed\n");
}

struct Refused {
  const char* what;
  const char* because;
};

class NewRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(NewRefuses, WithOneSentence) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"new", GetParam().what});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr(GetParam().because));
}

INSTANTIATE_TEST_SUITE_P(
    Requests, NewRefuses,
    ::testing::Values(Refused{"atention/mine", "did you mean 'attention'?"},
                      Refused{"attention", "cannot be a variant's name"},
                      Refused{"attention/../mine", "cannot be a variant's name"},
                      Refused{"attention/flash", "attention/flash already exists"}));

}  // namespace
}  // namespace assay::test
