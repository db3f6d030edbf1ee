// From an empty folder to a measured kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/page.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const minimal_source =
    "#include <assay/precision.h>\n"
    "#include \"choice.h\"\n"
    "struct Mine final : assay::Precision {\n"
    "  assay::PrecisionPolicy policy() const override { return {}; }\n"
    "};\n"
    "ASSAY_PLUGIN(Mine, NAME, \"For a test.\")\n";

TEST(PluginsPage, ItsExampleIsBuiltCheckedAndMeasured) {
  const Folder folder;
  const Page page = read_page("docs/plugins.md");
  for (const auto& [name, content] : page.files) folder.write(name, content);
  ASSERT_EQ(page.commands.size(), 3u);

  const Ended checked = assay(folder.path(), page.commands[0]);
  EXPECT_EQ(checked.exit_code, 0) << checked.output << checked.errors;
  EXPECT_THAT(checked.errors, HasSubstr("building"));

  const Ended measured = assay(folder.path(), page.commands[1]);
  EXPECT_EQ(measured.exit_code, 0) << measured.errors;
  EXPECT_THAT(measured.errors, Not(HasSubstr("building"))) << "the library was in the cache";
  const std::string report = folder.read("results/chunked-1/report.md");
  EXPECT_THAT(report, ContainsRegex("\\| chunked(†| )+\\|.*[0-9]"));
  EXPECT_THAT(report, Not(HasSubstr("N/A")));
}

TEST(PluginsPage, ItsRecordingWorkloadHasFewerThan60LinesAndShowsWhatItRecords) {
  const Folder folder;
  const Page page = read_page("docs/plugins.md");
  for (const auto& [name, content] : page.files) folder.write(name, content);
  const std::string source = page.files.at("stack.cpp");
  EXPECT_LT(std::count(source.begin(), source.end(), '\n'), 60);
  ASSERT_EQ(page.commands.size(), 3u);
  const Ended measured = assay(folder.path(), page.commands[2]);
  ASSERT_EQ(measured.exit_code, 0) << measured.errors;
  const std::string report = folder.read("results/stack-1/report.md");
  // 256 · 64 elements of mean square 1, scaled by 2: 2 · √16384.
  EXPECT_THAT(report, ContainsRegex("\\| layer 3 +\\| +(255\\.9|256)"));
  EXPECT_THAT(report, ContainsRegex("\\| rmsnorm +\\| +Float +\\|"));
  EXPECT_THAT(report, HasSubstr("sizes.csv"));
}

TEST(PluginSource, IsBuiltAgainWhenAHeaderBesideItChanges) {
  const Folder folder;
  folder.write("mine.cpp", minimal_source);
  folder.write("choice.h", "#define NAME \"first\"\n");
  const std::vector<std::string> list = {"list", "precision", "--plugin", "mine.cpp"};
  EXPECT_THAT(assay(folder.path(), list).output, HasSubstr("first"));
  EXPECT_EQ(assay(folder.path(), list).errors, "");
  folder.write("choice.h", "#define NAME \"second\"\n");
  const Ended again = assay(folder.path(), list);
  EXPECT_THAT(again.errors, HasSubstr("building"));
  EXPECT_THAT(again.output, HasSubstr("second"));
}

TEST(PluginSource, ThatDoesNotCompileShowsTheCompilersMessage) {
  const Folder folder;
  folder.write("mine.cpp", minimal_source);
  folder.write("choice.h", "#define NAME no_such_thing\n");
  const Ended ended = assay(folder.path(), {"list", "--plugin", "mine.cpp"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("choice.h:1"));
  EXPECT_THAT(ended.errors, HasSubstr("no_such_thing"));
  EXPECT_THAT(ended.errors, HasSubstr("mine.cpp: the plugin does not build"));
}

}  // namespace
}  // namespace assay::test
