#include "cli/show/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

store::Run two_lengths() {
  store::Run run;
  run.info.name = "toy-1";
  run.info.title = "Toys";
  run.info.started = "2026-01-31T12:00:00Z";
  for (const std::int64_t length : {64, 128}) {
    store::CaseResult result;
    result.ordinal = static_cast<std::int64_t>(run.cases.size());
    result.parameters = {{"seq_len", Value(length)},
                         {"batch", Value(std::int64_t{4})},
                         {"measure.warmup", Value(std::int64_t{5})}};
    store::Series series;
    series.pass = "forward";
    series.metric = "time";
    series.unit = "s";
    series.samples = {1e-5 * static_cast<double>(length), 2e-5 * static_cast<double>(length),
                      9e-5 * static_cast<double>(length)};
    result.series.push_back(series);
    run.cases.push_back(result);
  }
  return run;
}

TEST(RunPage, ShowsWhatVariesAndTheMedians) {
  const std::string page = run_page(two_lengths());
  EXPECT_THAT(page, ::testing::ContainsRegex("case +seq_len +forward \\[ms\\]\n"));
  EXPECT_THAT(page, ::testing::ContainsRegex("1 +64 +1\\.28\n"));
  EXPECT_THAT(page, ::testing::ContainsRegex("2 +128 +2\\.56\n"));
  const std::string constant = "batch=4, measure.warmup=5";
  const std::size_t first = page.find(constant);
  ASSERT_NE(first, std::string::npos) << page;
  EXPECT_EQ(page.find(constant, first + 1), std::string::npos) << "once, not with each case";
  EXPECT_THAT(page, Not(HasSubstr("outcome ")));
}

TEST(RunPage, ShowsOutcomesWhereOneIsNotOk) {
  store::Run run = two_lengths();
  run.cases[1].outcome = Outcome::oom;
  run.cases[1].reason = "20 GiB were asked for";
  run.cases[1].series.clear();
  const std::string page = run_page(run);
  EXPECT_THAT(page, HasSubstr("outcome"));
  EXPECT_THAT(page, ::testing::ContainsRegex("2 +128 +oom"));
  EXPECT_THAT(page, HasSubstr("oom, case 2: 20 GiB were asked for"));
}

}  // namespace
}  // namespace assay::cli
