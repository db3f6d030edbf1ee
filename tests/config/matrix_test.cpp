#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/case_key.h"
#include "reading.h"

namespace assay::config {
namespace {

TEST(Matrix, IsTheProductInTheOrderWritten) {
  const Plan plan =
      planned(on_attention("matrix: {seq_len: [128, 256], attention: [naive, flash], batch: 2}\n"));
  EXPECT_EQ(cases(plan, {"seq_len", "attention", "batch"}),
            (Rows{"128 naive 2", "128 flash 2", "256 naive 2", "256 flash 2"}));
  EXPECT_EQ(plan.columns()[0].name, "seq_len");
  EXPECT_EQ(plan.columns()[1].name, "attention");
}

TEST(Matrix, MayBeAbsent) {
  EXPECT_EQ(planned(on_attention("")).size(), 1u);
  EXPECT_EQ(planned(on_attention("fixed:\nexclude:\n")).size(), 1u);
}

TEST(Matrix, ListsOfOptionsExpandInPlace) {
  const Plan plan = planned(on_attention(
      "matrix: {attention: [naive, {tiled: {block_n: [32, 64], block_m: [16, 32]}}, flash]}\n"));
  EXPECT_EQ(
      cases(plan, {"attention", "attention.block_m", "attention.block_n"}),
      (Rows{"naive  ", "tiled 16 32", "tiled 16 64", "tiled 32 32", "tiled 32 64", "flash  "}));
  EXPECT_EQ(to_text(plan.get(1, "attention.persistent")), "false");
  EXPECT_EQ(plan.parameters(0).count("attention.persistent"), 0u);
}

TEST(Matrix, ADottedOptionAppliesToTheVariantsThatHaveIt) {
  const Plan plan = planned(on_attention(
      "matrix: {attention: [naive, tiled], attention.block_m: [16, 32], batch: [1, 2]}\n"));
  EXPECT_EQ(cases(plan, {"attention", "attention.block_m", "batch"}),
            (Rows{"naive  1", "naive  2", "tiled 16 1", "tiled 16 2", "tiled 32 1", "tiled 32 2"}));
}

TEST(Matrix, ADottedOptionMayBeFixedOrComeFirst) {
  EXPECT_EQ(cases(planned(on_attention("matrix: {attention: [naive, tiled]}\n"
                                       "fixed: {attention.block_m: 16}\n")),
                  {"attention", "attention.block_m"}),
            (Rows{"naive ", "tiled 16"}));
  EXPECT_EQ(cases(planned(on_attention("matrix: {attention.block_m: [16, 32]}\n"
                                       "fixed: {attention: tiled}\n")),
                  {"attention", "attention.block_m", "attention.block_n"}),
            (Rows{"tiled 16 64", "tiled 32 64"}));
  EXPECT_EQ(cases(planned(on_attention(
                      "matrix: {attention.block_m: [16, 32], attention: [strict, tiled]}\n")),
                  {"attention", "attention.block_m"}),
            (Rows{"strict 16", "tiled 16", "strict 32", "tiled 32"}));
}

TEST(Matrix, ZipMovesAxesTogether) {
  const Plan plan =
      planned(on_attention("matrix: {batch: [8, 4], precision: [fp32, bf16], seq_len: [128, 256]}\n"
                           "zip: [[seq_len, batch]]\n"));
  EXPECT_EQ(cases(plan, {"batch", "seq_len", "precision"}),
            (Rows{"8 128 fp32", "8 128 bf16", "4 256 fp32", "4 256 bf16"}));
}

TEST(Matrix, ZipMayTieAValueToSeveral) {
  const Plan plan =
      planned(on_attention("matrix: {batch: [8, 4, 8], seq_len: [128, 256, 256]}\n"
                           "zip: [[batch, seq_len]]\n"));
  EXPECT_EQ(cases(plan, {"batch", "seq_len"}), (Rows{"8 128", "4 256", "8 256"}));
}

TEST(Matrix, ZipHoldsASingleValueThroughout) {
  const Plan plan =
      planned(on_attention("matrix: {batch: [8], heads: [1, 2, 4], seq_len: [128, 256, 512]}\n"
                           "zip: [[batch, heads, seq_len]]\n"));
  EXPECT_EQ(cases(plan, {"batch", "heads", "seq_len"}), (Rows{"8 1 128", "8 2 256", "8 4 512"}));
}

TEST(Matrix, ZipTakesVariantsAndTheirOptions) {
  const Plan plan = planned(
      on_attention("matrix: {attention: [naive, {tiled: {block_m: [16, 32]}}], batch: [1, 2, 3]}\n"
                   "zip: [[attention, batch]]\n"));
  EXPECT_EQ(cases(plan, {"attention", "attention.block_m", "batch"}),
            (Rows{"naive  1", "tiled 16 2", "tiled 32 3"}));
}

TEST(Matrix, ExcludeDropsWhatMatchesAllOfAnEntry) {
  const Plan plan = planned(on_attention(
      "matrix: {attention: [naive, flash], seq_len: [128, 256, 512]}\n"
      "exclude: [{attention: naive, seq_len: [256, 512]}, {seq_len: 128, attention: flash}]\n"));
  EXPECT_EQ(cases(plan, {"attention", "seq_len"}), (Rows{"naive 128", "flash 256", "flash 512"}));
}

TEST(Matrix, ExcludeOfAValueNoCaseHasDropsNothing) {
  const Plan plan =
      planned(on_attention("matrix: {seq_len: [128, 256]}\n"
                           "exclude: [{seq_len: 512}, {attention: flash}]\n"));
  EXPECT_EQ(plan.size(), 2u);
}

TEST(Matrix, IncludeAddsWholeCases) {
  const Plan plan =
      planned(on_attention("matrix: {attention: [naive, flash], seq_len: [128, 256]}\n"
                           "exclude: [{attention: [naive, flash]}]\n"
                           "fixed: {batch: 2}\n"
                           "include:\n"
                           "  - {seq_len: 7}\n"
                           "  - {attention: {tiled: {block_m: 32}}, batch: 9}\n"
                           "  - {attention: strict, attention.block_m: 8}\n"));
  EXPECT_EQ(cases(plan, {"attention", "seq_len", "batch", "attention.block_m", "precision"}),
            (Rows{"naive 7 2  fp32", "tiled 128 9 32 fp32", "strict 128 2 8 fp32"}));
}

TEST(Matrix, IncludeOfACaseThatIsThereAddsNothing) {
  const Plan plan = planned(
      on_attention("matrix: {seq_len: [128, 256]}\ninclude: [{seq_len: 256}, {seq_len: 512}]\n"));
  EXPECT_EQ(cases(plan, {"seq_len"}), (Rows{"128", "256", "512"}));
}

TEST(Matrix, IncludeStandsAloneWithoutAMatrix) {
  const Plan plan =
      planned(on_attention("include: [{seq_len: 7, batch: 1}, {seq_len: 9, batch: 2}]\n"));
  EXPECT_EQ(cases(plan, {"seq_len", "batch"}), (Rows{"7 1", "9 2"}));
}

TEST(Matrix, TakesHostAndMeasuringAxes) {
  const Plan plan = planned(
      "experiment: test\nworkload: model_step\n"
      "matrix: {world_size: [1, 2], measure.warmup: [5, 0], repeat: [0, 1]}\n"
      "measure: {calls_per_sample: 10}\n");
  EXPECT_EQ(plan.size(), 8u);
  EXPECT_EQ(cases(plan, {"world_size", "measure.warmup", "repeat", "measure.calls_per_sample"})[3],
            "1 0 1 10");
}

TEST(Matrix, TakesExternalVariants) {
  const Plan plan =
      planned("experiment: test\nworkload: model_step\nmatrix: {compile: [eager, torch_eager]}\n");
  EXPECT_EQ(cases(plan, {"compile"}), (Rows{"eager", "torch_eager"}));
}

TEST(Filter, KeepsTheCasesItHoldsFor) {
  const std::string text =
      on_attention("matrix: {attention: [naive, tiled], seq_len: [128, 256, 512]}\n");
  EXPECT_EQ(cases(planned(text, {{}, {"seq_len <= 256", "attention == tiled || seq_len < 200"}}),
                  {"attention", "seq_len"}),
            (Rows{"naive 128", "tiled 128", "tiled 256"}));
  EXPECT_EQ(cases(planned(text, {{}, {"attention.block_m == 64 && seq_len in [128, 512]"}}),
                  {"attention", "seq_len"}),
            (Rows{"tiled 128", "tiled 512"}));
  EXPECT_EQ(planned(text, {{}, {"attention != naive"}}).size(), 3u);
}

TEST(Filter, SeesTheDefaultOfWhatNoCaseNames) {
  const std::string text = "{experiment: a, workload: attention}";
  const Plan kept = planned(text, {{}, {"measure.observed_steps == 3"}});
  EXPECT_EQ(cases(kept, {"measure.observed_steps"}), (Rows{""})) << "keys leave it out";
  EXPECT_FALSE(expand(parsed(text, {{}, {"measure.observed_steps == 4"}})));
}

TEST(Filter, MayCompareModelsWithTheirNames) {
  const Plan plan = planned(
      "experiment: test\nworkload: model_step\nmatrix: {model: [small, 2.7B, 10B, xl-2026]}\n",
      {{}, {"model in [2.7B, 10B, 'xl-2026']"}});
  EXPECT_EQ(cases(plan, {"model"}), (Rows{"2.7B", "10B", "xl-2026"}));
}

TEST(Filter, ThatLeavesNothingOrMakesNoSenseIsAnError) {
  const std::string text = on_attention("matrix: {seq_len: [128, 256]}\n");
  const auto none = expand(parsed(text, {{}, {"seq_len > 999"}}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text(), "no case of 'test' is left; --filter drops all of them");
  const auto misspelt = expand(parsed(text, {{}, {"attention == niave"}}));
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().text(),
            "no case of 'test' is left; --filter drops all of them: no case has attention 'niave'; "
            "did you mean 'naive'? known: naive");
  const auto number = expand(parsed(text, {{}, {"seq_len + 1"}}));
  ASSERT_FALSE(number);
  EXPECT_NE(number.error().text().find("it gives 129, not true or false"), std::string::npos);
  const auto text_and_number = expand(parsed(text, {{}, {"attention < 3"}}));
  ASSERT_FALSE(text_and_number);
  EXPECT_NE(text_and_number.error().text().find("cannot order"), std::string::npos);
}

TEST(Matrix, ExcludeThatLeavesNothingIsAnErrorAtItsPlace) {
  const std::string text =
      on_attention("matrix: {seq_len: [128, 256]}\nexclude:\n  - {seq_len: [128, 256]}\n");
  for (const Override& given : {Override{}, Override{{}, {"seq_len > 1"}}}) {
    const auto none = expand(parsed(text, given));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text(),
              "test.yaml:4:1: no case of 'test' is left; exclude drops all of them");
  }
  const auto filtered =
      expand(parsed(on_attention("matrix: {seq_len: [128, 256]}\nexclude: [{seq_len: 128}]\n"),
                    {{}, {"seq_len < 200"}}));
  ASSERT_FALSE(filtered);
  EXPECT_EQ(filtered.error().text(),
            "no case of 'test' is left; --filter drops what exclude leaves");
}

std::string axis(const char* name, int from, int to) {
  std::string text = fmt::format("  {}: [{}", name, from);
  for (int i = from + 1; i <= to; ++i) text += fmt::format(", {}", i);
  return text + "]\n";
}

TEST(Expand, GivesEveryCaseOnceInOrder) {
  const Plan plan = planned(on_attention("matrix:\n" + axis("seq_len", 1, 100) +
                                         axis("d_head", 1, 50) + axis("batch", 1, 20)));
  ASSERT_EQ(plan.size(), 100'000u);
  for (std::size_t i = 0; i < plan.size(); i += 997) {
    EXPECT_EQ(plan.get(i, "seq_len"), Value(static_cast<std::int64_t>(1 + i / 1000)));
    EXPECT_EQ(plan.get(i, "d_head"), Value(static_cast<std::int64_t>(1 + i / 20 % 50)));
    EXPECT_EQ(plan.get(i, "batch"), Value(static_cast<std::int64_t>(1 + i % 20)));
  }
}

TEST(Expand, RefusesTooManyCasesWithoutExpandingThem) {
  const auto huge = expand([] {
    Experiment experiment;
    experiment.fixed["workload"] = std::string("w");
    for (const char* name : {"a", "b", "c", "d"}) {
      Axis wide{{name}, {}};
      for (std::int64_t i = 0; i < 100'000; ++i) wide.rows.push_back({Choice{i, {}}});
      experiment.matrix.push_back(std::move(wide));
    }
    return experiment;
  }());
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().text().find("more than 2^64 cases"), std::string::npos);
}

TEST(Expand, ManyExclusionsOfManyCases) {
  std::string numbers = "1";
  for (int i = 2; i <= 300; ++i) numbers += fmt::format(", {}", i);
  const Plan plan = planned(on_attention(
      "matrix:\n" + axis("seq_len", 1, 1000) + axis("batch", 1, 300) +
      fmt::format("exclude: [{{seq_len: [{0}], batch: [{0}]}}, {{batch: 7}}]\n", numbers)));
  EXPECT_EQ(plan.size(), 1000u * 300 - 300 * 300 - 700);
}

TEST(Expand, AGigabyteIsRefusedAndATrillionCasesToo) {
  const auto file = std::filesystem::temp_directory_path() / "assay-gigabyte.yaml";
  std::ofstream(file) << "experiment: ";
  std::filesystem::resize_file(file, std::uintmax_t{1} << 30);  // of one line
  const auto gigabyte = read_experiment(file.string(), test_environment());
  std::filesystem::remove(file);
  ASSERT_FALSE(gigabyte);
  EXPECT_NE(gigabyte.error().text().find("it is larger than"), std::string::npos);

  const auto trillion = parse_experiment(
      on_attention("matrix:\n" + axis("seq_len", 1, 10'000) + axis("batch", 1, 10'000) +
                   axis("measure.samples", 1, 10'000) + "limits: {cases: 100000000}\n"),
      "test.yaml", test_environment());
  ASSERT_FALSE(trillion);
  EXPECT_NE(trillion.error().text().find("the matrix has 1000000000000 cases, the limit is "
                                         "100000000"),
            std::string::npos)
      << trillion.error().text();
}

TEST(Plan, RowsKeepTheirValuesWhenColumnsAreAdded) {
  Plan plan;
  EXPECT_EQ(plan.size(), 0u);
  plan.add_case({{"a", std::int64_t{1}}});
  plan.add_case({{"b", std::string("x")}, {"a", std::int64_t{2}}});
  plan.add_case({{"b", std::string("x")}});
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(case_key_text(plan.parameters(0)), "a=1");
  EXPECT_EQ(case_key_text(plan.parameters(1)), "a=2, b=x");
  EXPECT_EQ(case_key_text(plan.parameters(2)), "b=x");
  EXPECT_EQ(plan.get(0, "b"), Value());
  EXPECT_EQ(plan.get(0, "c"), Value());
  EXPECT_EQ(plan.index_of(1, std::string("x")), 1u);
  EXPECT_EQ(plan.index_of(1, std::string("y")), std::nullopt);
}

}  // namespace
}  // namespace assay::config
