#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "rendering.h"

namespace assay::report {
namespace {

// A spec with the line, the message and the hint of its mistake.
struct Mistake {
  const char* name;
  const char* yaml;
  int line;
  const char* message;
  const char* hint;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

Vocabulary vocabulary() {
  Vocabulary known;
  known.axes = {"model", "seq_len", "attention", "attention.block_m", "size"};
  known.passes = {"forward", "backward"};
  known.metrics = {{"time", "s", Direction::lower_is_better, ""},
                   {"peak_memory", "byte", Direction::lower_is_better, ""},
                   {"parameters", "count", Direction::neither, ""}};
  return known;
}

std::string mistake_name(const testing::TestParamInfo<Mistake>& mistake) {
  return mistake.param.name;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreRefusedWithTheirLineAndWhatExists) {
  const auto spec = yaml::parse(GetParam().yaml, "spec.yaml");
  ASSERT_TRUE(spec) << spec.error().text();
  const auto diagnostics = check(*spec, vocabulary());
  ASSERT_FALSE(diagnostics.empty());
  const Diagnostic& first = diagnostics.front();
  EXPECT_EQ(first.where.line, GetParam().line) << first.text();
  EXPECT_NE(first.message.find(GetParam().message), std::string::npos) << first.text();
  EXPECT_NE(first.hint.find(GetParam().hint), std::string::npos) << first.text();
}

TEST(Mistake, AUnitThatDoesNotExistIsSaidOnce) {
  for (const char* yaml : {"- table: {columns: {a: {metric: time, unit: mss}}}",
                           "- table: {columns: {a: {metric: time, unit: mss}, b: {metric: time, "
                           "unit: s}, c: {expr: a + b}}}",
                           "- plot: {x: seq_len, y: {metric: time, unit: mss}}",
                           "- flame: {metric: time, shares: [forward], unit: mss}",
                           "- timeline: {values: [peak_memory], unit: mss}"}) {
    const auto diagnostics = check(*yaml::parse(yaml, "spec.yaml"), vocabulary());
    ASSERT_EQ(diagnostics.size(), 1u) << yaml << "\n"
                                      << Error{ExitCode::bad_input, diagnostics}.text();
    EXPECT_EQ(diagnostics[0].message, "unit 'mss' does not exist");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Names, Mistakes,
    testing::Values(
        Mistake{"block", "- tabel: {}\n", 1, "block 'tabel' does not exist",
                "did you mean 'table'"},
        Mistake{"table_key", "- table:\n    colums: {}\n", 2, "table has no key 'colums'",
                "did you mean 'columns'"},
        Mistake{"axis", "- table:\n    rows: [modle]\n    columns: {s: {metric: time, unit: s}}\n",
                2, "axis 'modle' does not exist", "did you mean 'model'"},
        Mistake{"metric", "- table:\n    columns:\n      s: {metric: tiem, unit: s}\n", 3,
                "metric 'tiem' does not exist", "did you mean 'time'"},
        Mistake{"pass", "- table:\n    columns:\n      s: {metric: time, pass: fowrard, unit: s}\n",
                3, "pass 'fowrard' does not exist", "did you mean 'forward'"},
        Mistake{"statistic",
                "- table:\n    columns:\n      s: {metric: time, stat: avg, unit: s}\n", 3,
                "statistic 'avg' does not exist", "known: mean, std"},
        Mistake{"format", "- table:\n    columns:\n      s: {metric: time, unit: s, format: g7}\n",
                3, "format 'g7' does not exist", "known: auto, g6"},
        Mistake{"format_spec",
                "- table:\n    columns:\n      s: {metric: time, unit: s, format: '{:.q}'}\n", 3,
                "not a format specification", "{:.3f}"},
        Mistake{"unit", "- table:\n    columns:\n      s: {metric: time, unit: msec}\n", 3,
                "unit 'msec' does not exist", "known: s, ms"},
        Mistake{"layout", "- layout: nowhere\n", 1, "layout 'nowhere' does not exist",
                "there are none"},
        Mistake{"column_in_expression", "- table:\n    columns:\n      x: {expr: 'y * 2'}\n", 3,
                "column 'y' does not exist", "known: x, model"},
        Mistake{"column_in_template",
                "- text:\n    columns: {s: {metric: time, unit: s}}\n    row: '{model} {sec}'\n", 3,
                "column 'sec' does not exist", "s, reason"},
        Mistake{"column_in_join", "- table:\n    columns:\n      x: {join: [a, model]}\n", 3,
                "column 'a' does not exist", "model"},
        Mistake{"sort", "- table:\n    columns: {s: {metric: time, unit: s}}\n    sort: [ms]\n", 3,
                "column 'ms' does not exist", "known: s"},
        Mistake{
            "keep",
            "- table:\n    columns: {s: {metric: time, unit: s}}\n    keep: 'ms > 3 && s < 9'\n", 3,
            "column 'ms' does not exist", "known: s"},
        Mistake{"word_in_keep",
                "- table:\n    columns: {s: {metric: time, unit: s}}\n    keep: 'state == ok'\n", 3,
                "column 'state' does not exist", "known: s"},
        Mistake{"outcome", "- table:\n    columns: {s: {metric: time, unit: s}}\n    omit: [OOM]\n",
                3, "outcome 'OOM' does not exist", "oom"},
        Mistake{"cell_kind",
                "- table:\n    columns: {s: {metric: time, unit: s}}\n    cells: {omm: X}\n", 3,
                "cell kind 'omm' does not exist", "did you mean 'oom'"},
        Mistake{"finding", "- findings: [speedups]\n", 1, "finding 'speedups' does not exist",
                "speedup"},
        Mistake{"scale", "- plot: {x: seq_len, y: {metric: time}, scale: loglog}\n", 1,
                "scale 'loglog' does not exist", "log-log"},
        Mistake{"aggregate",
                "- table:\n    columns: {s: {metric: time, unit: s}}\n    summary: ['{avg(s)}']\n",
                3, "'avg' is not a function over rows", "mean"},
        Mistake{"pivot_name",
                "- table:\n    rows: [model]\n    pivot: {by: [pass], metric: time, unit: s, name: "
                "'{attention}'}\n",
                3, "not in its `by`", "pass"}),
    mistake_name);

INSTANTIATE_TEST_SUITE_P(
    Units, Mistakes,
    testing::Values(
        Mistake{"none_named", "- table:\n    columns:\n      x: {metric: time, format: g6}\n", 3,
                "'x' shows time without naming a unit", "ms"},
        Mistake{"none_named_for_an_expression",
                "- table:\n    columns:\n      x: {metric: time}\n      y: {expr: '2 * x'}\n", 3,
                "'x' shows time without naming a unit", "ms"},
        Mistake{"none_named_for_a_text",
                "- text:\n    columns:\n      x: {metric: time}\n    row: "
                "'{x} s'\n",
                3, "'x' shows time without naming a unit", "ms"},
        Mistake{"none_named_for_a_summary",
                "- table:\n    columns:\n      x: {metric: time, stat: [mean, std]}\n"
                "    summary: ['{mean(x)}']\n",
                3, "'x' shows time without naming a unit", "ms"},
        Mistake{"of_another_quantity",
                "- table:\n    columns:\n      x: {metric: time, unit: MiB}\n", 3,
                "time is measured in s, which 'MiB' cannot show", "ms"},
        Mistake{"of_a_plain_number",
                "- table:\n    columns:\n      x: {metric: parameters, unit: ms}\n", 3,
                "plain numbers", "leave the unit out"},
        Mistake{"two_scales",
                "- table:\n    columns:\n      a: {metric: time, pass: forward, unit: ms}\n"
                "      b: {metric: time, pass: backward, unit: s}\n      c: {expr: 'a + b'}\n",
                5, "mixes ms and s", "one unit"},
        Mistake{"a_sum_of_quantities",
                "- table:\n    columns:\n      a: {metric: time, unit: ms}\n"
                "      b: {metric: peak_memory, unit: MiB}\n      c: {expr: 'a + b'}\n",
                5, "mixes MiB and ms", "one unit"},
        Mistake{
            "a_comparison_of_quantities",
            "- table:\n    columns:\n      a: {metric: time, unit: ms}\n"
            "      b: {metric: peak_memory, unit: MiB}\n      c: {expr: 'if(2 * a > b, 1, 0)'}\n",
            5, "mixes MiB and ms", "one unit"},
        Mistake{
            "a_sum_inside_a_comparison",
            "- table:\n    columns:\n      a: {metric: time, unit: ms}\n"
            "      b: {metric: peak_memory, unit: MiB}\n      c: {expr: 'if(a + b > 2, 1, 0)'}\n",
            5, "mixes MiB and ms", "one unit"},
        Mistake{"a_condition_on_two_scales",
                "- table:\n    columns:\n      a: {metric: time, pass: forward, unit: ms}\n"
                "      b: {metric: time, pass: backward, unit: s}\n    keep: a < b\n",
                5, "mixes ms and s", "one unit"}),
    mistake_name);

// Each side has one unit or none.
TEST(Units, OfComparisonsThatAgreeAreAccepted) {
  for (const char* line :
       {"      c: {expr: 'if(a > 5 && b < 3, b / a, 0)'}\n",
        "      c: {expr: 'if(a ^ 2 / b < 3 * a ^ 2 / b, 1, 2)'}\n", "    keep: a > 1 && b > 2\n"}) {
    const std::string spec =
        "- table:\n    columns:\n      a: {metric: time, unit: ms}\n"
        "      b: {metric: peak_memory, unit: MiB}\n" +
        std::string(line);
    const auto diagnostics = check(*yaml::parse(spec, "spec.yaml"), vocabulary());
    EXPECT_TRUE(diagnostics.empty()) << diagnostics.front().text();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Mistakes,
    testing::Values(
        Mistake{"no_list", "table: {}\n", 1, "a report must be a list of blocks", "table"},
        Mistake{"two_keys", "- heading: a\n  prose: b\n", 1, "a block is a mapping with one key",
                "heading"},
        Mistake{"no_columns", "- table: {rows: [model]}\n", 1, "a table needs `columns` or `pivot`",
                ""},
        Mistake{"column_of_two_things",
                "- table:\n    columns:\n      x: {metric: time, expr: '1'}\n", 3,
                "column 'x' must show one thing", "metric"},
        Mistake{"column_of_nothing", "- table:\n    columns:\n      x: {unit: s}\n", 3,
                "column 'x' must show one thing", "axis"},
        Mistake{"unknown_column_key",
                "- table:\n    columns:\n      x: {metric: time, unit: s, fromat: g6}\n", 3,
                "column 'x' has no key 'fromat'", "did you mean 'format'"},
        Mistake{"text_without_row", "- text: {columns: {s: {metric: time, unit: s}}}\n", 1,
                "needs `row`", ""},
        Mistake{"pivot_without_by",
                "- table:\n    rows: [model]\n    pivot: {metric: time, unit: s}\n", 3,
                "a pivot needs `by`", ""},
        Mistake{"plot_without_x", "- plot: {y: {metric: time}}\n", 1, "a plot needs `x`", ""},
        Mistake{"group_without_by",
                "- text:\n    columns: {s: {metric: time, unit: s}}\n    row: '{s}'\n    group: "
                "{before: x}\n",
                4, "a group needs `by`", ""},
        Mistake{"open_brace", "- text:\n    columns: {s: {metric: time, unit: s}}\n    row: '{s'\n",
                3, "'{' without '}'", "{{"},
        Mistake{"expression", "- table:\n    columns:\n      x: {expr: '1 +'}\n", 3, "expr", ""},
        Mistake{"mean_in_a_row",
                "- text:\n    columns: {s: {metric: time, unit: s}}\n    row: '{mean(s)}'\n", 3,
                "a row has no {mean(…)} of 's'", "summary"},
        Mistake{"limit", "- table:\n    columns: {s: {metric: time, unit: s}}\n    limit: many\n",
                3, "limit must be a whole number", ""},
        Mistake{"index", "- table:\n    columns: {s: {metric: time, unit: s}}\n    index: 1\n", 3,
                "index must be true or false", ""},
        Mistake{"title_of_a_plot", "- plot: {x: seq_len, y: {metric: time}, title: '{model}'}\n", 1,
                "not in `for_each`", ""},
        Mistake{"condition_without_axis",
                "- table:\n    columns: {s: {metric: time, unit: s}}\n    where: '1 < 2'\n", 3,
                "names no axis", "model"}),
    mistake_name);

TEST(Spec, AllMistakesAreReportedTogether) {
  const auto spec = yaml::parse(
      "- tabel: {}\n"
      "- table:\n"
      "    rows: [nothing]\n"
      "    columns: {x: {metric: nothing, unit: s}}\n",
      "spec.yaml");
  EXPECT_EQ(check(*spec, vocabulary()).size(), 3u);
}

TEST(Spec, QuantitiesMayBeMultipliedAndDivided) {
  const auto spec = yaml::parse(
      "- table:\n"
      "    columns:\n"
      "      t: {metric: time, unit: s}\n"
      "      m: {metric: peak_memory, unit: GiB}\n"
      "      rate: {expr: '2 * m / t'}\n"
      "      per: {expr: 't / (seq_len * seq_len)'}\n",
      "spec.yaml");
  const auto diagnostics = check(*spec, vocabulary());
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.front().text();
}

TEST(Spec, NothingAsksForTheDefaultReport) {
  EXPECT_TRUE(check(yaml::Node(), vocabulary()).empty());
}

class Layouts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay_layouts_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / (name + ".yaml")) << text;
  }

  Result<std::string> rendered(const std::string& csv, const std::string& yaml) {
    const store::Run run = testing_support::run_of(csv);
    Inputs inputs;
    inputs.sources = {&run};
    inputs.with_context = false;
    inputs.layouts = folder_;
    inputs.spec = *yaml::parse(yaml, "spec.yaml");
    const auto document = build(inputs);
    if (!document) return tl::unexpected(document.error());
    return to_markdown(*document);
  }

  std::filesystem::path folder_;
};

const char* const two_models = "model,pass,time.mean [s]\nsmall,forward,1\nxl,forward,2\n";

TEST_F(Layouts, StandForTheirBlocks) {
  write("times", "- table:\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n");
  const auto text =
      rendered(two_models, "- heading: Times\n- layout: {name: times, where: {model: xl}}\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "## Times\n\n| model   |   s |\n|:--------|----:|\n| xl      |   2 |\n");
}

TEST_F(Layouts, AreFoundByNameInAnyFolder) {
  std::filesystem::create_directories(folder_ / "models" / "more");
  write("models/more/times", "- table:\n    columns: {s: {metric: time, unit: s}}\n");
  const auto text = rendered(two_models, "- layout: {name: times, where: {model: xl}}\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "|   s |\n|----:|\n|   2 |\n");
  const auto by_path = rendered(two_models, "- layout: models/more/times\n");
  ASSERT_FALSE(by_path);
  EXPECT_NE(by_path.error().text().find("known: times"), std::string::npos)
      << by_path.error().text();
}

TEST_F(Layouts, MistakesInsideNameTheirFile) {
  write("times", "- table:\n    rows: [model]\n    columns: {s: {metric: tiem, unit: s}}\n");
  const auto text = rendered(two_models, "- layout: times\n");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().text().find("times.yaml:3:"), std::string::npos) << text.error().text();
}

TEST_F(Layouts, CannotIncludeThemselves) {
  write("loop", "- layout: loop\n");
  const auto text = rendered(two_models, "- layout: loop\n");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().text().find("includes itself"), std::string::npos) << text.error().text();
}

TEST_F(Layouts, CannotLeaveTheirFolder) {
  const auto text = rendered(two_models, "- layout: ../times\n");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().text().find("does not exist"), std::string::npos);
}

TEST(LayoutNames, AreThoseOfFilesInTheirFolder) {
  Vocabulary known;
  known.layouts = std::filesystem::path(ASSAY_SOURCE_DIR) / "configs/layouts";
  for (const char* name : {"../layouts/attention_summary", "./attention_summary", "/etc/passwd",
                           "..", "\"attention_summary\\0\"", "'; rm -rf ~'"}) {
    const auto spec = yaml::parse(std::string("- layout: ") + name, "spec.yaml");
    ASSERT_TRUE(spec) << name;
    const auto diagnostics = check(*spec, known);
    ASSERT_EQ(diagnostics.size(), 1u) << name;
    EXPECT_NE(diagnostics[0].message.find("does not exist"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace assay::report
