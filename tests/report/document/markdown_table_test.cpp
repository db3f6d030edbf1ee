#include "report/document/markdown_table.h"

#include <gtest/gtest.h>

namespace assay::report {
namespace {

TableColumn numbers(std::string name, std::vector<std::string> cells) {
  return {std::move(name), std::move(cells), 0, true};
}

TableColumn words(std::string name, std::vector<std::string> cells) {
  return {std::move(name), std::move(cells), 0, false};
}

// pandas 2 with tabulate 0.9 prints the same.
TEST(MarkdownTable, NumbersStandOnTheirPoint) {
  const TableSection table{
      {numbers("n", {"7", "128", "4096"}), numbers("x", {"0.5", "12.25", "100"}),
       numbers("big", {"1e+07", "1.234e-05", "-3.5"}), words("word", {"a", "longer text", "µ"})}};
  EXPECT_EQ(markdown_table(table),
            "|    n |      x |        big | word        |\n"
            "|-----:|-------:|-----------:|:------------|\n"
            "|    7 |   0.5  |  1e+07     | a           |\n"
            "|  128 |  12.25 |  1.234e-05 | longer text |\n"
            "| 4096 | 100    | -3.5       | µ           |\n");
}

TEST(MarkdownTable, HeaderWidensItsColumnByTwo) {
  const TableSection table{{numbers("", {"0", "1", "2"}),
                            words("mixed", {"1.5", "OOM", "0.06979474425315857"}),
                            numbers("i", {"1", "20", "3"})}};
  EXPECT_EQ(markdown_table(table),
            "|    | mixed               |   i |\n"
            "|---:|:--------------------|----:|\n"
            "|  0 | 1.5                 |   1 |\n"
            "|  1 | OOM                 |  20 |\n"
            "|  2 | 0.06979474425315857 |   3 |\n");
}

TEST(MarkdownTable, EmptyCellsKeepTheirPlace) {
  const TableSection table{{numbers("x", {"1.25", "", "3"})}};
  EXPECT_EQ(markdown_table(table),
            "|    x |\n"
            "|-----:|\n"
            "| 1.25 |\n"
            "|      |\n"
            "| 3    |\n");
}

TEST(MarkdownTable, CellsCannotBreakTheTable) {
  const TableSection table{{words("a|b", {"void f<int>(T)", "two\nlines"})}};
  EXPECT_EQ(markdown_table(table),
            "| a\\|b            |\n"
            "|:----------------|\n"
            "| void f\\<int>(T) |\n"
            "| two lines       |\n");
}

TEST(MarkdownTable, AlignmentCanBeGiven) {
  TableColumn column = words("x", {"1 ± 2"});
  column.align = 'r';
  TableColumn middle = words("y", {"abcd", "z"});
  middle.align = 'c';
  column.cells.push_back("9");
  EXPECT_EQ(markdown_table({{column, middle}}),
            "|     x |  y   |\n"
            "|------:|:----:|\n"
            "| 1 ± 2 | abcd |\n"
            "|     9 |  z   |\n");
}

TEST(TerminalTable, IsPlainAndAligned) {
  const TableSection table{{words("model", {"small", "xl"}), numbers("ms", {"1.5", "12"})}};
  EXPECT_EQ(terminal_table(table, 0),
            "model    ms\n"
            "small   1.5\n"
            "xl     12\n");
}

TEST(TerminalTable, GoesOnBelowWhereItIsTooWide) {
  const TableSection table{
      {words("model", {"small"}), words("first", {"aaaaaaaa"}), words("second", {"bbbbbbbb"})}};
  EXPECT_EQ(terminal_table(table, 16),
            "model  first\n"
            "small  aaaaaaaa\n"
            "\n"
            "model  second\n"
            "small  bbbbbbbb\n");
}

}  // namespace
}  // namespace assay::report
