#include "wire/status_page.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace assay::wire {
namespace {

TEST(StatusPageTest, BothSidesSeeTheSamePage) {
  const auto host = SharedStatus::make();
  ASSERT_TRUE(host);
  const int passed = ::dup(host->descriptor());
  ::setenv(status_variable, std::to_string(passed).c_str(), 1);
  const SharedStatus worker = SharedStatus::from_environment();
  ::unsetenv(status_variable);
  ASSERT_NE(worker.page(), nullptr);
  EXPECT_EQ(::close(passed), -1) << "the worker has closed what it was passed";
  host->page()->asked = 3;
  EXPECT_EQ(worker.page()->asked, 3u);
  std::string("the stack overflowed").copy(worker.page()->cause, 20);
  EXPECT_EQ(host->cause(), "the stack overflowed");
}

TEST(StatusPageTest, ACauseWithoutAnEndIsCutOff) {
  const auto host = SharedStatus::make();
  ASSERT_TRUE(host);
  EXPECT_EQ(host->cause(), "");
  std::fill_n(host->page()->cause, StatusPage::cause_bytes, 'x');
  EXPECT_EQ(host->cause().size(), StatusPage::cause_bytes);
}

TEST(StatusPageTest, AWorkerWithoutOneHasNone) {
  EXPECT_EQ(SharedStatus::from_environment().page(), nullptr);
}

}  // namespace
}  // namespace assay::wire
