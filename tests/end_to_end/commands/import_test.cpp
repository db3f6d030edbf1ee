// Results of other programs, from the page's own example to a report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/page.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

TEST(ImportTest, TheExampleOfThePageBecomesARunWithAReport) {
  const Page page = read_page("docs/results.md");
  ASSERT_EQ(page.files.size(), 1u);
  ASSERT_EQ(page.commands.size(), 1u);
  const Folder folder;
  for (const auto& [name, text] : page.files) folder.write(name, text);
  const Ended imported = assay(folder.path(), page.commands[0]);
  ASSERT_EQ(imported.exit_code, 0) << imported.errors;
  EXPECT_EQ(imported.output, "step-1\n");

  const Ended exported = assay(folder.path(), {"export", "latest"});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  EXPECT_THAT(exported.output, HasSubstr("\"samples\":[536870912.0,1073741824.0,805306368.0]"));
  EXPECT_THAT(exported.output, HasSubstr("\"experiment\":\"step\""));
  const Ended report = assay(folder.path(), {"report", "step-1"});
  EXPECT_EQ(report.exit_code, 0) << report.errors;
}

}  // namespace
}  // namespace assay::test
