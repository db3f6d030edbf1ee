#include <gtest/gtest.h>

#include "attention_figures.h"
#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::attention;
using testing_support::markdown;
using testing_support::markdown_of;
using testing_support::run_of;
using testing_support::shown;
using testing_support::Shown;

TEST(Table, RowsAndSpelledColumns) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {attention: flash}
    columns:
      length: {axis: seq_len}
      ms: {metric: time, pass: forward, unit: ms}
      us: {metric: time, pass: forward, unit: us, format: "{:.1f}"}
      MiB: {metric: peak_memory, pass: forward, unit: MiB}
)"),
            "|   length |   ms |     us |   MiB |\n"
            "|---------:|-----:|-------:|------:|\n"
            "|      128 | 1.00 | 1000.0 |     4 |\n"
            "|      256 | 1.50 | 1500.0 |     8 |\n");
}

TEST(Table, PivotSpreadsAxesIntoColumns) {
  EXPECT_EQ(
      markdown(attention, R"(
- table:
    rows: [seq_len]
    pivot: {by: [pass, attention], metric: time, unit: ms, name: "{attention}_{pass}_ms", labels: {naive: vanilla, forward: fwd, backward: bwd}}
    reasons: false
)"),
      "|   seq_len | vanilla_fwd_ms   |   flash_fwd_ms | vanilla_bwd_ms   |   flash_bwd_ms |\n"
      "|----------:|:-----------------|---------------:|:-----------------|---------------:|\n"
      "|       128 | 2.00             |           1.00 | 6.0              |           3.00 |\n"
      "|       256 | OOM              |           1.50 | OOM              |           4.00 |\n");
}

TEST(Table, WhereOfAPivotGivesTheOrderOfItsColumns) {
  const std::string text = markdown(attention, R"(
- table:
    rows: [seq_len]
    pivot: {by: [attention], where: {attention: [flash, naive], pass: forward}, metric: time, unit: ms}
    reasons: false
)");
  EXPECT_LT(text.find("flash"), text.find("naive"));
}

TEST(Table, JoinPutsCellsOfSeveralRunsInOne) {
  const store::Run a =
      run_of("model,pass,time.mean [ms],outcome\nsmall,forward,3,\nxl,forward,,oom\n", "a");
  const store::Run b =
      run_of("model,pass,time.mean [ms],outcome\nsmall,forward,2.5,\nxl,forward,9,\n", "b");
  EXPECT_EQ(shown(markdown_of({&a, &b}, R"(
- table:
    rows: [model]
    columns:
      both: {join: [{metric: time, source: 0, unit: ms}, {metric: time, source: b, unit: ms}], separator: " / "}
    cells: {oom: Out of memory}
    reasons: false
)")),
            (Shown{{{"model", "both"}, {"small", "3 / 2.5"}, {"xl", "Out of memory / 9"}},
                   {"- **both** in ms"}}));
}

TEST(Table, TextColumnsAreTemplatesOverAxes) {
  EXPECT_EQ(shown(markdown(
                "model,seq_len,pass,time.mean [s]\nsmall,128,forward,1\nsmall,256,forward,2\n", R"(
- table:
    columns:
      case: {text: "{model}_seq{seq_len}"}
      s: {metric: time, pass: forward, unit: s}
)")),
            (Shown{{{"case", "s"}, {"small_seq128", "1"}, {"small_seq256", "2"}}, {}}));
}

TEST(Table, SortsKeepsAndLimits) {
  const char* const kernels =
      "pass,part,time.mean "
      "[ms]\nforward,copy,1\nforward,gemm,9\nforward,softmax,4\nforward,tiny,0.1\n";
  EXPECT_EQ(shown(markdown(kernels, R"(
- table:
    index: true
    rows: [part]
    columns: {ms: {metric: time, unit: ms}}
    sort: ["-ms"]
    keep: "ms > 0.5"
    limit: 2
)")),
            (Shown{{{"", "part", "ms"}, {"0", "gemm", "9"}, {"1", "softmax", "4"}}, {}}));
}

TEST(Table, WordsSortAsTheyWerePlannedAndNumbersBySize) {
  const char* const models =
      "model,seq_len,pass,time.mean "
      "[s]\nsmall,1024,forward,1\nsmall,128,forward,2\nlarge,1024,forward,3\n";
  const std::string text = markdown(models, R"(
- table:
    rows: [model, seq_len]
    columns: {s: {metric: time, unit: s}}
    sort: [model, seq_len]
)");
  EXPECT_LT(text.find("128"), text.find("1024"));
  EXPECT_LT(text.find("small"), text.find("large"));
}

TEST(Table, SummaryLinesTakeAllRows) {
  const std::string text = markdown(attention, R"(
- table:
    where: {attention: flash}
    rows: [seq_len]
    columns: {ms: {metric: time, pass: backward, unit: ms}}
    summary: ["{count(ms)} lengths, {mean(ms):.2f} ms on average, at most {max(ms)}"]
)");
  EXPECT_NE(text.find("\n2 lengths, 3.50 ms on average, at most 4\n"), std::string::npos) << text;
}

TEST(Table, RepeatsForEachValue) {
  const std::string text = markdown(attention, R"(
- table:
    for_each: [attention]
    title: "With {attention}"
    rows: [seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
    reasons: false
)");
  EXPECT_NE(text.find("### With naive\n\n|   seq_len | ms   |"), std::string::npos) << text;
  EXPECT_NE(text.find("### With flash\n\n|   seq_len |   ms |"), std::string::npos) << text;
}

TEST(Table, WithoutRowsTheAxesThatVaryAre) {
  EXPECT_EQ(markdown("model,batch,pass,time.mean [s]\nsmall,4,forward,1\nlarge,4,forward,2\n",
                     "- table: {columns: {s: {metric: time, unit: s}}}"),
            "| model   |   s |\n"
            "|:--------|----:|\n"
            "| small   |   1 |\n"
            "| large   |   2 |\n");
}

// The experiment names a value that no result has: --filter excluded it.
TEST(Table, WithoutResultsSaysWhy) {
  store::Run run = run_of(attention);
  run.info.first.experiment_text = "matrix: {attention: [naive, flash, fused]}";
  EXPECT_EQ(markdown_of({&run},
                        "- table: {where: {attention: fused}, columns: {s: {metric: time, pass: "
                        "forward, unit: s}}}"),
            "No result matches this table: attention is naive or flash, not 'fused'.\n");
  EXPECT_EQ(markdown(attention,
                     "- table: {where: 'seq_len > 9999', columns: {s: {metric: time, pass: "
                     "forward, unit: s}}}"),
            "No result matches this table.\n");
}

TEST(Table, ConditionsMayBeExpressions) {
  const std::string text = markdown(attention, R"(
- table:
    where: "seq_len > 128 && attention == flash"
    rows: [seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
)");
  EXPECT_EQ(text,
            "|   seq_len |   ms |\n"
            "|----------:|-----:|\n"
            "|       256 | 1.50 |\n");
}

TEST(Table, SizesAreChosenAndShownWithUnits) {
  EXPECT_EQ(
      shown(markdown("size,pass,time.mean [ms]\n1048576,all_reduce,1\n10485760,all_reduce,5\n", R"(
- table:
    where: {size: 10 MiB}
    columns:
      MiB: {axis: size, unit: MiB}
      size: {axis: size, labels: {1048576: one, 10 MiB: ten}}
      ms: {metric: time, unit: ms}
)")),
      (Shown{{{"MiB", "size", "ms"}, {"10", "ten", "5"}}, {}}));
}

TEST(Table, NamesTimesThatNobodyHasVerified) {
  const store::Run run = testing_support::unverified_run(
      "seq_len,attention,pass,time.mean [ms],bytes.mean [byte]\n"
      "128,naive,forward,2,8\n128,mine,forward,1,8\n256,mine,forward,1.5,8\n",
      "attention", "mine");
  const std::string rows = "- table: {rows: [seq_len, attention], columns: {x: ";
  EXPECT_NE(
      markdown_of({&run}, rows + "{metric: time, unit: ms}}}")
          .find("**not verified** (2 cells: seq_len 128, attention mine; seq_len 256, attention "
                "mine): mine: too large"),
      std::string::npos);
  // A ratio of an unverified time is unverified; counts need no verification.
  EXPECT_NE(markdown_of({&run}, rows + "{metric: time, relative_to: {attention: naive}}}}")
                .find("**not verified** (1 cell: seq_len 128, attention mine)"),
            std::string::npos);
  EXPECT_EQ(
      shown(markdown_of({&run}, rows + "{metric: bytes, unit: byte, where: {attention: mine}}}}")),
      (Shown{{{"seq_len", "attention", "x"}, {"128", "mine", "8"}, {"256", "mine", "8"}},
             {"- **x** in byte"}}));
}

// `reasons: false` keeps the line of an unverified time, which looks like any other.
TEST(Table, UnverifiedTimesAreNamedEvenWithoutReasons) {
  const std::string figures =
      "attention,pass,time.mean [ms],outcome,reason\nmine,forward,1,ok,\nflash,forward,,oom,full\n";
  const store::Run run = testing_support::unverified_run(figures, "attention", "mine");
  const std::string line = "- **not verified** (1 cell: attention mine): mine: too large\n";
  const std::string table = markdown_of(
      {&run},
      "- table: {rows: [attention], reasons: false, columns: {x: {metric: time, unit: ms}}}");
  EXPECT_NE(table.find(line), std::string::npos) << table;
  EXPECT_EQ(table.find("full"), std::string::npos) << table;
  const std::string text = markdown_of(
      {&run},
      "- text: {rows: [attention], reasons: false, columns: {x: {metric: time, unit: ms}}, row: "
      "'{attention} {x}'}");
  EXPECT_NE(text.find(line), std::string::npos) << text;
  EXPECT_EQ(text.find("full"), std::string::npos) << text;
}

// A single case has no row to name.
TEST(Table, AReasonWithoutRowsNamesNone) {
  EXPECT_EQ(shown(markdown("pass,time.mean [ms],outcome,reason\nforward,,oom,full\n",
                           "- table: {columns: {x: {metric: time, unit: ms}}}")),
            (Shown{{{"x"}, {"OOM"}}, {"- **oom** (1 cell): full"}}));
}

// A single sample has a mean and no deviation.
TEST(Table, StatisticsThatAreNotThereGoWithTheirSeparator) {
  EXPECT_EQ(shown(markdown("n,pass,time.samples [ms]\n1,forward,[2]\n2,forward,\"[1, 3]\"\n",
                           "- table: {rows: [n], columns: {x: {metric: time, stat: [mean, "
                           "std_population], unit: ms}}}")),
            (Shown{{{"n", "x"}, {"1", "2 ± 0"}, {"2", "2.0 ± 1.0"}}, {"- **x** in ms"}}));
  EXPECT_EQ(
      shown(markdown("n,pass,time.samples [ms]\n1,forward,[2]\n2,forward,\"[1, 3, 5]\"\n",
                     "- table: {rows: [n], columns: {x: {metric: time, stat: [mean, std], unit: "
                     "ms}}}")),
      (Shown{{{"n", "x"}, {"1", "2"}, {"2", "3.0 ± 2.0"}}, {"- **x** in ms"}}));
}

}  // namespace
}  // namespace assay::report
