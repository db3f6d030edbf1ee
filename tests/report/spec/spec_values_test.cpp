#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::built;
using testing_support::run_of;

// A spec that names a missing value.
struct ValueMistake {
  const char* name;
  const char* yaml;
  int line, column;
  const char* message;
  const char* hint;
};

void PrintTo(const ValueMistake& mistake, std::ostream* out) { *out << mistake.name; }

Vocabulary value_vocabulary() {
  Vocabulary known;
  known.axes = {"model", "seq_len", "attention", "size"};
  known.passes = {"forward", "backward"};
  known.metrics = {{"time", "s", Direction::lower_is_better, ""},
                   {"allocated_memory", "byte", Direction::lower_is_better, ""},
                   {"power", "W", Direction::lower_is_better, ""}};
  known.add_values("attention", {Value(std::string("naive")), Value(std::string("flash"))});
  known.add_values("seq_len", {Value(std::int64_t{128}), Value(std::int64_t{256})});
  known.add_values("size", {Value(std::int64_t{1048576})});
  known.add_values("rank", {Value(std::int64_t{0}), Value(std::int64_t{1})});
  known.add_values("part", {Value(std::string("compute")), Value(std::string("communication"))});
  return known;
}

class MistakenValues : public testing::TestWithParam<ValueMistake> {};

TEST_P(MistakenValues, AreRefusedWithTheirPlaceAndWhatExists) {
  const auto spec = yaml::parse(GetParam().yaml, "spec.yaml");
  ASSERT_TRUE(spec) << spec.error().text();
  const auto diagnostics = check(*spec, value_vocabulary());
  ASSERT_EQ(diagnostics.size(), 1u);
  const Diagnostic& first = diagnostics.front();
  EXPECT_EQ(first.where.line, GetParam().line) << first.text();
  EXPECT_EQ(first.where.column, GetParam().column) << first.text();
  EXPECT_NE(first.message.find(GetParam().message), std::string::npos) << first.text();
  EXPECT_NE(first.hint.find(GetParam().hint), std::string::npos) << first.text();
}

const char* const columns = "    columns: {s: {metric: time, unit: s}}\n";

INSTANTIATE_TEST_SUITE_P(
    Where, MistakenValues,
    testing::Values(
        ValueMistake{
            "of_a_table",
            "- table:\n    where: {attention: falsh}\n    columns: {s: {metric: time, unit: s}}\n",
            2, 24, "attention 'falsh' does not exist", "did you mean 'flash'? known: naive, flash"},
        ValueMistake{"in_a_list",
                     "- plot: {x: seq_len, y: {metric: time}, where: {seq_len: [128, 255]}}\n", 1,
                     64, "seq_len '255' does not exist", "known: 128, 256"},
        ValueMistake{
            "of_a_column",
            "- table:\n    columns:\n      s: {metric: time, unit: s, where: {attention: fused}}\n",
            3, 53, "attention 'fused' does not exist", "naive, flash"},
        ValueMistake{
            "of_a_comparison",
            "- table:\n    columns:\n      s: {metric: time, relative_to: {attention: nave}}\n", 3,
            50, "attention 'nave' does not exist", "did you mean 'naive'"},
        ValueMistake{"of_a_baseline",
                     "- findings: [{speedup: {axis: attention, baseline: nive}}]\n", 1, 52,
                     "attention 'nive' does not exist", "did you mean 'naive'"},
        ValueMistake{"of_a_finding", "- findings: [{speedup: {where: {attention: nive}}}]\n", 1, 44,
                     "attention 'nive' does not exist", "did you mean 'naive'"},
        ValueMistake{
            "in_a_condition",
            "- table:\n    where: attention == falsh\n    columns: {s: {metric: time, unit: s}}\n",
            2, 12, "attention 'falsh' does not exist", "did you mean 'flash'"},
        ValueMistake{
            "pass_in_a_condition",
            "- table:\n    where: pass == foward\n    columns: {s: {metric: time, unit: s}}\n", 2,
            12, "pass 'foward' does not exist", "did you mean 'forward'"},
        ValueMistake{
            "axis_in_a_condition",
            "- table:\n    where: seqlen > 1 && attention == flash\n    columns: {s: {metric: "
            "time, unit: s}}\n",
            2, 12, "axis 'seqlen' does not exist", "did you mean 'seq_len'"},
        ValueMistake{"part",
                     "- table:\n    columns:\n      s: {metric: time, part: comput, unit: s}\n", 3,
                     31, "part 'comput' does not exist", "did you mean 'compute'"},
        ValueMistake{"rank",
                     "- table:\n    columns:\n      s: {metric: time, rank: slowest, unit: s}\n", 3,
                     31, "rank 'slowest' does not exist", "a number, max, min, mean or all"}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Timelines, MistakenValues,
    testing::Values(
        ValueMistake{"lane", "- timeline: {lanes: [compute, comunication]}\n", 1, 31,
                     "part 'comunication' does not exist", "did you mean 'communication'"},
        ValueMistake{"metric", "- timeline: {values: alocated_memory}\n", 1, 22,
                     "metric 'alocated_memory' does not exist", "did you mean 'allocated_memory'"},
        ValueMistake{"mixed_units", "- timeline: {values: [allocated_memory, power]}\n", 1, 41,
                     "mixes byte of allocated_memory and W of power", "of its own"},
        ValueMistake{"unit", "- timeline: {values: power, unit: MiB}\n", 1, 35,
                     "power is measured in W, which 'MiB' cannot show", ""},
        ValueMistake{"nothing_to_show", "- timeline: {phases: [compute]}\n", 1, 13,
                     "either `values` or `lanes`", "spans"},
        ValueMistake{"overlap_of_one", "- timeline: {lanes: [compute], overlap: {of: compute}}\n",
                     1, 41, "needs `of` and `with`", "with: compute"},
        ValueMistake{"unit_of_lanes", "- timeline: {lanes: [compute], unit: ms}\n", 1, 38,
                     "`unit` belongs to `values`", "chosen for the picture"},
        ValueMistake{"overlap_of_values",
                     "- timeline: {values: power, overlap: {of: compute, with: "
                     "communication}}\n",
                     1, 38, "`overlap` belongs to `lanes`", "lanes: [compute, communication]"},
        ValueMistake{"key", "- timeline: {lanes: [compute], phase: [compute]}\n", 1, 32,
                     "timeline has no key 'phase'", "did you mean 'phases'"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Values, AreNamedInAnyUnitAndLeftOutByAnEmptyText) {
  const auto spec = yaml::parse(std::string("- table:\n    where: {size: 1 MiB, attention: ''}\n") +
                                    columns + "- table:\n    where: size == 1 MiB\n" + columns,
                                "spec.yaml");
  const auto diagnostics = check(*spec, value_vocabulary());
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.front().text();
}

// A run may lack a value of its experiment; a value of neither is a mistake.
TEST(Values, OfTheExperimentMayBeMissingFromARun) {
  store::Run run = run_of("attention,pass,time.mean [s]\nnaive,forward,1\n");
  run.info.first.experiment_text =
      "matrix:\n  attention: [naive, {tiled: {block_m: [64, 128]}}]\nmeasure: {warmup: 5}\n";
  const auto rendered = [&](const std::string& value) {
    return built({&run}, "- table:\n    where: {attention: " + value +
                             "}\n    columns: {s: {metric: time, unit: s}}\n");
  };
  EXPECT_TRUE(rendered("tiled"));
  const auto mistaken = rendered("tilde");
  ASSERT_FALSE(mistaken);
  EXPECT_NE(mistaken.error().text().find("spec.yaml:2:"), std::string::npos);
  EXPECT_NE(mistaken.error().text().find("known: naive, tiled"), std::string::npos)
      << mistaken.error().text();
}

TEST(Values, OfRanksAreOpenWhereAResultFailed) {
  const char* const spec =
      "- table:\n    rows: [world_size]\n    columns: {s: {metric: time, rank: 1, unit: s}}\n    "
      "reasons: false\n";
  const store::Run ok = run_of("world_size,pass,rank,time.mean [s]\n1,step,0,1\n");
  ASSERT_FALSE(built({&ok}, spec));
  EXPECT_NE(built({&ok}, spec).error().text().find("rank '1' does not exist"), std::string::npos);
  const store::Run failed =
      run_of("world_size,pass,rank,time.mean [s],outcome,reason\n2,step,0,,crashed,signal 11\n");
  EXPECT_TRUE(built({&failed}, spec)) << built({&failed}, spec).error().text();
}

TEST(Values, OfSourcesAreTheRunsThatAreThere) {
  const store::Run run = run_of("model,pass,time.mean [s]\nsmall,forward,1\n");
  const auto one = built({&run}, "- table: {columns: {s: {metric: time, source: 1, unit: s}}}\n");
  ASSERT_FALSE(one);
  EXPECT_NE(one.error().text().find("source '1' does not exist"), std::string::npos)
      << one.error().text();
}

}  // namespace
}  // namespace assay::report
