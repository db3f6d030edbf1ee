#include "base/shell_command.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(ShellCommand, NamesTheProgramInAHintAsItIsCalled) {
  ASSERT_EQ(called_as(), "assay") << "this test has another name, which is no way to call assay";
  EXPECT_EQ(as_called("`assay list runs` lists them"), "`assay list runs` lists them");
}

}  // namespace
}  // namespace assay
