#include "wire/status_page.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <limits>

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

TEST(StatusPageTest, TheLastCollectivesAreReadByNumber) {
  const auto host = SharedStatus::make();
  ASSERT_TRUE(host);
  CollectiveNotes& notes = host->page()->notes;
  EXPECT_TRUE(notes.last().empty());
  notes.add("all_reduce");
  notes.add("barrier");
  ASSERT_EQ(notes.last().size(), 2u);
  EXPECT_EQ(notes.last()[0].number, 1u);
  EXPECT_EQ(notes.last()[1].text(), "barrier");
  for (int i = 0; i < 40; ++i) notes.add("all_gather");
  ASSERT_EQ(notes.last().size(), CollectiveNotes::kept);
  EXPECT_EQ(notes.last().front().number, 42 - CollectiveNotes::kept + 1);
  EXPECT_EQ(notes.last().back().number, 42u);
}

TEST(StatusPageTest, APageThatARankHasScribbledOnIsReadToAnEnd) {
  const auto host = SharedStatus::make();
  ASSERT_TRUE(host);
  std::memset(static_cast<void*>(host->page()), 0xff, sizeof(StatusPage));
  const auto notes = host->page()->notes.last();
  ASSERT_EQ(notes.size(), 1u) << "all claim the number of the newest";
  EXPECT_EQ(notes[0].number, std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(notes[0].text().starts_with("\uFFFD")) << notes[0].text();
  EXPECT_EQ(notes[0].text().find('\xff'), std::string::npos);
}

TEST(StatusPageTest, TheWordsOfACollectiveAreFitToBeShown) {
  CollectiveNotes notes;
  notes.add("a\x1b[2J\nb");
  EXPECT_EQ(notes.last()[0].text(), "a\uFFFD[2J b");
}

TEST(StatusPageTest, AWorkerWithoutOneHasNone) {
  EXPECT_EQ(SharedStatus::from_environment().page(), nullptr);
}

}  // namespace
}  // namespace assay::wire
