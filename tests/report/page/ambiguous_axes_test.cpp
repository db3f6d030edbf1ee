// Every result is shown even if a block does not name an axis that varies.

#include <gtest/gtest.h>

#include <algorithm>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::built;
using testing_support::markdown;
using testing_support::markdown_of;
using testing_support::run_of;
using testing_support::shown;
using testing_support::Shown;

const char* const batches =
    "model,batch,pass,time.mean [s]\nsmall,4,forward,1\nsmall,8,forward,2\n";

TEST(AmbiguousAxes, AreFurtherColumnsOfATablesRows) {
  EXPECT_EQ(shown(markdown(batches, R"(
- table:
    rows: [model]
    columns: {s: {metric: time, unit: s}}
)")),
            (Shown{{{"model", "batch", "s"}, {"small", "4", "1"}, {"small", "8", "2"}},
                   {"`batch` was added: the report does not name it, and without it one place "
                    "would show several results."}}));
}

TEST(AmbiguousAxes, MayBeThePass) {
  const std::string text =
      markdown("model,pass,time.mean [s]\nsmall,forward,1\nsmall,backward,2\n", R"(
- table:
    rows: [model]
    columns: {s: {metric: time, unit: s}}
)");
  EXPECT_NE(text.find("| small   | backward |   2 |"), std::string::npos) << text;
}

TEST(AmbiguousAxes, OfTwoRunsAreTheirNames) {
  const store::Run a = run_of("model,pass,time.mean [s]\nsmall,forward,1\n", "a");
  const store::Run b = run_of("model,pass,time.mean [s]\nsmall,forward,2\n", "b");
  const std::string text = markdown_of({&a, &b}, R"(
- table:
    rows: [model]
    columns: {s: {metric: time, unit: s}}
)");
  EXPECT_NE(text.find("| small   | b     |   2 |"), std::string::npos) << text;
}

TEST(AmbiguousAxes, AreAddedOnlyAsFarAsTheyTellResultsApart) {
  // Tokens follow from world: either axis separates the results, and the preferred one wins.
  store::Run run =
      run_of("model,tokens,world,pass,time.mean [s]\nsmall,2,1,forward,1\nsmall,4,2,forward,2\n");
  run.info.first.overrides = {"--set world=[1,2]"};
  const std::string text = markdown_of({&run}, R"(
- table:
    rows: [model]
    columns: {s: {metric: time, unit: s}}
)");
  EXPECT_NE(text.find("| model   |   world |   s |"), std::string::npos) << text;
}

TEST(AmbiguousAxes, GiveATextBlockForEachOfTheirValues) {
  EXPECT_EQ(markdown(batches, R"(
- text:
    rows: [model]
    columns: {s: {metric: time, unit: s}}
    row: "{model}: {s}"
)"),
            "### batch 4\n\n```\nsmall: 1\n```\n\n### batch 8\n\n```\nsmall: 2\n```\n\n"
            "`batch` was added: the report does not name it, and without it one place would show "
            "several results.\n");
}

TEST(AmbiguousAxes, StandBesideThoseAPivotSpreads) {
  const std::string text = markdown(
      "model,batch,precision,pass,time.mean [s]\nsmall,4,fp32,forward,1\nsmall,8,fp32,forward,2\n"
      "small,4,bf16,forward,3\nsmall,8,bf16,forward,4\n",
      R"(
- table:
    rows: [model]
    pivot: {by: [precision], metric: time, unit: s}
)");
  EXPECT_NE(text.find("| small   |       8 |      2 |      4 |"), std::string::npos) << text;
}

TEST(AmbiguousAxes, AreNoneWhereTheyAreTakenTogether) {
  const std::string text = markdown(batches, R"(
- table:
    rows: [model]
    columns: {s: {metric: time, pool: [batch], stat: n}}
)");
  EXPECT_EQ(text.find("was added"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay::report
