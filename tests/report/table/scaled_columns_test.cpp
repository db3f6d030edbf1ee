#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::cells_of;
using testing_support::markdown;
using testing_support::Rows;

const char* const scaled_figures =
    "kind,size,pass,time.mean [us],time.std [us],peak_memory.mean [MiB]\n"
    "a,1,forward,2,0.1,3000\n"
    "a,2,forward,40,2,5000\n"
    "b,1,forward,3000,30,2\n"
    "b,2,forward,5000000,40,3\n";

Rows scaled_table(const std::string& columns) {
  const std::string text = markdown(scaled_figures, "- table:\n    rows: [kind, size]\n" + columns);
  EXPECT_EQ(text.find("** in "), std::string::npos) << text;  // the header has the unit
  return cells_of(text);
}

// Median 1.5 ms, and 1.5 GiB.
TEST(ScaledColumns, HaveOneUnitThatFitsTheirFigures) {
  EXPECT_EQ(scaled_table("    columns: {time: {metric: time}, memory: {metric: peak_memory}}\n"),
            (Rows{{"kind", "size", "time [ms]", "memory [GiB]"},
                  {"a", "1", "0.00200", "2.93"},
                  {"a", "2", "0.0400", "4.883"},
                  {"b", "1", "3.000", "0.001953"},
                  {"b", "2", "5000", "0.00293"}}));
}

TEST(ScaledColumns, AFigureAndItsSpreadShareTheUnit) {
  EXPECT_EQ(
      scaled_table("    where: {kind: a}\n"
                   "    columns: {time: {metric: time, stat: [mean, std]}}\n"),
      (Rows{{"kind", "size", "time [us]"}, {"a", "1", "2.00 ± 0.10"}, {"a", "2", "40.0 ± 2.0"}}));
}

TEST(ScaledColumns, ThoseOfAPivotShareTheUnit) {
  const std::string text = markdown(
      scaled_figures, "- table:\n    rows: [size]\n    pivot: {by: [kind], metric: time}\n");
  EXPECT_EQ(
      cells_of(text),
      (Rows{{"size", "a [ms]", "b [ms]"}, {"1", "0.00200", "3.000"}, {"2", "0.0400", "5000"}}));
}

TEST(ScaledColumns, LeaveAUnitThatIsGivenAndANameThatHasIt) {
  EXPECT_EQ(scaled_table("    where: {kind: a}\n    columns: {in ms: {metric: time, unit: ms}, "
                         "in us: {metric: time}}\n"),
            (Rows{{"kind", "size", "in ms", "in us"},
                  {"a", "1", "0.00200", "2.00"},
                  {"a", "2", "0.0400", "40.0"}}));
}

}  // namespace
}  // namespace assay::report
