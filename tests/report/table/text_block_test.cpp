#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::markdown;

const char* const models =
    "model,seq_len,pass,time.mean [ms],outcome,reason\n"
    "small,128,forward,1.25,,\n"
    "small,256,forward,2.5,,\n"
    "xl,128,forward,10,,\n"
    "xl,256,forward,,oom,no room\n";

TEST(TextBlock, HeaderRowsAndRules) {
  EXPECT_EQ(markdown(models, R"(
- text:
    columns: {ms: {metric: time, pass: forward, unit: ms, format: "{:.2f}"}}
    before: "===="
    header: |
      model  seq   ms
      ----
    row: "{model:<6} {seq_len:>4} {ms:>6}"
    after: "longest {max(ms):.1f} of {count(ms)}"
    reasons: false
)"),
            "```\n"
            "====\n"
            "model  seq   ms\n"
            "----\n"
            "small   128   1.25\n"
            "small   256   2.50\n"
            "xl      128  10.00\n"
            "xl      256    OOM\n"
            "longest 10.0 of 3\n"
            "```\n");
}

TEST(TextBlock, RowsByOutcome) {
  EXPECT_EQ(markdown(models, R"(
- text:
    where: {model: xl}
    columns: {ms: {metric: time, unit: ms}}
    row: "{seq_len}: {ms} ms"
    row_when: {oom: "{seq_len}: exception {reason}"}
    reasons: false
)"),
            "```\n128: 10 ms\n256: exception no room\n```\n");
}

TEST(TextBlock, GroupsWithTheirOwnLines) {
  EXPECT_EQ(markdown(models, R"(
- text:
    columns: {ms: {metric: time, unit: ms}}
    row: "  {seq_len:<5} {ms}"
    group: {by: [model], before: "{model}:", between: "", after: "  most {max(ms)}"}
    reasons: false
)"),
            "```\n"
            "small:\n"
            "  128   1.25\n"
            "  256   2.5\n"
            "  most 2.5\n"
            "\n"
            "xl:\n"
            "  128   10\n"
            "  256   OOM\n"
            "  most 10\n"
            "```\n");
}

TEST(TextBlock, BlocksWithLinesOfEachRank) {
  EXPECT_EQ(
      markdown("world_size,pass,rank,time.samples [ms]\n2,step,0,1 3\n2,step,1,4 4\n4,step,0,5 5\n",
               R"(
- text:
    columns:
      slowest: {metric: time, unit: ms, format: "{:.1f}"}
      own: {metric: time, unit: ms, format: "{:.1f}"}
    each:
      rank: "  Rank {rank}: {own} ms"
      list: {over: rank, row: "{own}", separator: ", "}
    between: ""
    row: |
      {world_size} ranks, {slowest} ms
      {each.rank}
      [{each.list}]
)"),
      "```\n"
      "2 ranks, 4.0 ms\n"
      "  Rank 0: 2.0 ms\n"
      "  Rank 1: 4.0 ms\n"
      "[2.0, 4.0]\n"
      "\n"
      "4 ranks, 5.0 ms\n"
      "  Rank 0: 5.0 ms\n"
      "[5.0]\n"
      "```\n");
}

TEST(TextBlock, PadsByWhatATerminalShows) {
  EXPECT_EQ(markdown("model,pass,time.mean [ms],time.std [ms]\nsmall,forward,1.25,0.5\n", R"(
- text:
    columns:
      ms: {metric: time, stat: [mean, std], unit: ms, format: "{:.2f}"}
      ok: {outcome: row, labels: {ok: "✓"}}
    row: "{ms:<14}|{ok:>3}|{model:^7}|"
)"),
            "```\n1.25 ± 0.50   |  ✓| small |\n```\n");
}

TEST(TextBlock, NumbersCanBeShapedInTheTemplate) {
  EXPECT_EQ(markdown("size,pass,time.mean [ms]\n1048576,all_reduce,1.5\n", R"(
- text:
    columns: {ms: {metric: time, unit: ms}, MiB: {axis: size, unit: MiB}}
    row: "{MiB:>6.1f} MB -> {ms:08.3f} {size:,d} {{braces}}"
)"),
            "```\n   1.0 MB -> 0001.500 1,048,576 {braces}\n```\n");
}

TEST(TextBlock, NotesListWhatWasLeftOut) {
  const std::string text = markdown(models, R"(
- text:
    columns: {ms: {metric: time, unit: ms}}
    omit: [oom]
    note: {each: "{model} {seq_len}", separator: ", ", last: " and ", text: "{rows} ran out of memory: {count} of them"}
    row: "{model} {seq_len} {ms}"
)");
  EXPECT_NE(text.find("\n\nxl 256 ran out of memory: 1 of them\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("OOM"), std::string::npos);
}

TEST(TextBlock, LinesEndWithoutSpaces) {
  EXPECT_EQ(markdown("model,pass,time.mean [ms]\nsmall,forward,1\n", R"(
- text: {columns: {ms: {metric: time, unit: ms}}, header: "ms        ", row: "{ms:<8} "}
)"),
            "```\nms\n1\n```\n");
}

TEST(TextBlock, FenceOutlastsBackticks) {
  EXPECT_EQ(markdown("part,pass,time.mean [ms]\n```,forward,1\n", R"(
- text: {columns: {ms: {metric: time, unit: ms}}, row: "{part} {ms}"}
)"),
            "````\n``` 1\n````\n");
}

}  // namespace
}  // namespace assay::report
