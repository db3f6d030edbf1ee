#include "cli/show/case_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CasePage, SaysWhatLooksAtTimedCallsFound) {
  store::Run run;
  store::CaseResult result;
  EXPECT_THAT(case_page(run, result), Not(HasSubstr("looks at timed calls")));
  store::TimedLooksFacts& forward = result.facts.verification["forward"].timed;
  forward.looks = 3;
  forward.error = 0.0012;
  forward.tolerance = 0.01;
  forward.of = "out";
  forward.error_ratio = 0.974;
  store::TimedLooksFacts& backward = result.facts.verification["backward"].timed;
  backward.looks = 0;
  backward.left_out = "its reference takes 4 GiB";
  EXPECT_THAT(case_page(run, result),
              HasSubstr("  looks at timed calls\n"
                        "    backward: 0 looks; left out: its reference takes 4 GiB\n"
                        "    forward: 3 looks, error 0.0012 of out (tolerance 0.01), 0.974 of the "
                        "textbook's\n"));
}

}  // namespace
}  // namespace assay::cli
