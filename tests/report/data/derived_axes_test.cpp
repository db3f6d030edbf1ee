// Fields of presets and counts as axes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing_support::cells_of;
using testing_support::markdown_of;
using testing_support::Rows;
using testing_support::run_of;

const char* const times_of_sizes =
    "model,pass,time.mean [s],parameters.mean [count]\n"
    "small,forward,1,128\nxl,forward,4,2048\n";

const nlohmann::json preset_sizes = {
    {"model/small", {{"d_model", 768}, {"layers", 12}, {"note", "of 12"}, {"heads", {1, 2}}}},
    {"model/xl", {{"d_model", 1600}, {"layers", 48}}}};

store::Run run_of_sizes() {
  store::Run run = run_of(times_of_sizes);
  run.info.first.provenance = {{"presets", preset_sizes}};
  return run;
}

Rows table_of(const store::Run& run, const std::string& yaml) {
  return cells_of(markdown_of({&run}, "- table:\n" + yaml));
}

TEST(PresetFields, AreRowsColumnsFiltersAndTerms) {
  const store::Run run = run_of_sizes();
  EXPECT_EQ(table_of(run,
                     "    rows: [model.d_model]\n    columns:\n"
                     "      s: {metric: time, unit: s}\n"
                     "      s per layer: {expr: 's / model.layers', format: '{:.4f}'}\n"
                     "      layers: {axis: model.layers}\n      note: {axis: model.note}\n"),
            (Rows{{"model.d_model", "s", "s per layer", "layers", "note"},
                  {"768", "1", "0.0833", "12", "of 12"},
                  {"1600", "4", "0.0833", "48", ""}}));
  for (const char* where : {"{model.d_model: 1600}", "model.d_model > 768", "model.layers == 48"}) {
    EXPECT_EQ(table_of(run, std::string("    where: ") + where +
                                "\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n"),
              (Rows{{"model", "s"}, {"xl", "4"}}))
        << where;
  }
}

TEST(PresetFields, AreTheSameImported) {
  const char* const yaml =
      "    rows: [model.d_model]\n    columns: {s: {metric: time, unit: s}}\n"
      "    where: model.d_model < 1000\n";
  const store::Run imported =
      run_of("model,model.d_model,pass,time.mean [s]\nsmall,768,forward,1\nxl,1600,forward,4\n");
  EXPECT_EQ(table_of(imported, yaml), table_of(run_of_sizes(), yaml));
}

// A later session may have had another file of the same name.
TEST(PresetFields, AreThoseOfTheCasesSession) {
  store::Run run = run_of_sizes();
  run.info.sessions.emplace_back();
  run.info.sessions.back().provenance = {{"presets", {{"model/xl", {{"d_model", 2560}}}}}};
  run.cases.back().session = 1;
  EXPECT_EQ(table_of(run,
                     "    rows: [model]\n    columns: {d: {axis: model.d_model}, s: {metric: time, "
                     "unit: s}}\n"),
            (Rows{{"model", "d", "s"}, {"small", "768", "1"}, {"xl", "2560", "4"}}));
}

// They follow from what varies.
TEST(PresetFields, AreNotAddedToAReportOnTheirOwn) {
  const store::Run with = run_of_sizes(), without = run_of(times_of_sizes);
  for (const char* yaml :
       {"- table: {columns: {s: {metric: time, unit: s}}}\n", "- findings: [speedup, scaling]\n"}) {
    EXPECT_EQ(markdown_of({&with}, yaml), markdown_of({&without}, yaml)) << yaml;
  }
  EXPECT_EQ(cells_of(markdown_of({&with}, "- table: {columns: {s: {metric: time, unit: s}}}\n")),
            (Rows{{"model", "s"}, {"small", "1"}, {"xl", "4"}}));
}

// Two models of one width share a row, which would show two results.
TEST(PresetFields, LeaveWhatTheyDoNotTellApartToBeAdded) {
  store::Run run = run_of_sizes();
  run.info.first.provenance["presets"]["model/xl"]["d_model"] = 768;
  EXPECT_EQ(table_of(run, "    rows: [model.d_model]\n    columns: {s: {metric: time, unit: s}}\n"),
            (Rows{{"model.d_model", "model", "s"}, {"768", "small", "1"}, {"768", "xl", "4"}}));
}

// The experiment's matrix has it; a run of a part of the matrix may have it at its default alone.
TEST(DefaultsLeftOut, AreValuesOfTheirAxis) {
  store::Run run = run_of("norm,pass,time.mean [s]\nrmsnorm,forward,1\nlayernorm,forward,2\n");
  run.info.first.provenance = {{"left_out", {{"residual", false}}}};
  EXPECT_EQ(
      table_of(run,
               "    rows: [norm, residual]\n    where: {residual: false}\n"
               "    columns: {s: {metric: time, unit: s}}\n"),
      (Rows{{"norm", "residual", "s"}, {"rmsnorm", "false", "1"}, {"layernorm", "false", "2"}}));
}

TEST(Counts, AreRowsFiltersAndTerms) {
  const store::Run run = run_of(times_of_sizes);
  EXPECT_EQ(table_of(run,
                     "    rows: [parameters]\n    where: parameters > 200\n    columns:\n"
                     "      s: {metric: time, unit: s}\n"
                     "      ns each: {expr: 's / parameters * 10^9', format: '{:.0f}'}\n"),
            (Rows{{"parameters", "s", "ns each"}, {"2048", "4", "1953125"}}));
}

// Counted for the case, so known in the passes that do not count it.
TEST(Counts, BelongToEveryPassOfTheCase) {
  const store::Run run = run_of(
      "model,pass,time.mean [s],parameters.mean [count],calls.mean [count]\n"
      "small,forward,1,128,3\nsmall,backward,2,,4\n");
  EXPECT_EQ(table_of(run,
                     "    where: {pass: backward}\n    columns:\n      n: {axis: parameters}\n"
                     "      calls: {axis: calls}\n      s: {metric: time, unit: s}\n"),
            (Rows{{"n", "calls", "s"}, {"128", "", "2"}}))
      << "calls differ between the passes";
}

TEST(Counts, AreNotMistakenForAPartOfTheirName) {
  const store::Run run = run_of(
      "model,part,size.mean [byte],parameters.mean [count]\n"
      "small,parameters,1,\nsmall,gradients,2,\nsmall,,,128\n");
  const char* const columns = "    columns: {part: {axis: part}, b: {metric: size, unit: byte}}\n";
  EXPECT_THAT(
      markdown_of({&run}, std::string("- table:\n    where: part == parameters\n") + columns),
      HasSubstr("part is compared with the number of parameters"));
  EXPECT_EQ(table_of(run, std::string("    where: \"part == 'parameters'\"\n") + columns),
            (Rows{{"part", "b"}, {"parameters", "1"}}));
}

}  // namespace
}  // namespace assay::report
