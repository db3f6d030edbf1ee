#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "rendering.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using testing_support::run_of;

class TableFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("assay_tables_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string rendered(const store::Run& run, const std::string& yaml) {
    Inputs inputs;
    inputs.sources = {&run};
    inputs.with_context = false;
    inputs.folder = folder_;
    inputs.spec = *yaml::parse(yaml, "spec.yaml");
    const auto document = build(inputs);
    return document ? *to_markdown(*document) : "ERROR " + document.error().text();
  }
  std::string file(const std::string& name) {
    const auto text = read_file((folder_ / name).string());
    return text ? *text : text.error().text();
  }

  std::filesystem::path folder_;
};

const char* const figures =
    "model,seq_len,pass,time.mean [ms],time.std [ms],parameters.value [count]\n"
    "small_a,128,forward,1.5,0.25,139584\n50%,128,forward,0.001,0.0002,20\n";

const char* const table = R"yaml(
- table:
    rows: [model]
    format: [latex, csv]
    columns:
      "time [ms]": {metric: time, stat: [mean, std], unit: ms}
      power: {metric: time, format: sci(2)}
      plain: {metric: time, format: "sci(2, plain)"
}
      parameters: {metric: parameters}
)yaml";

TEST_F(TableFiles, AreLatexForBooktabsAndCsvBesideTheMarkdown) {
  const std::string text = rendered(run_of(figures), table);
  EXPECT_THAT(text, HasSubstr("| small_a | 1.50 ± 0.25"));
  EXPECT_THAT(text, HasSubstr("As a file: [table-1.tex](table-1.tex), [table-1.csv](table-1.csv)"));
  EXPECT_EQ(file("table-1.tex"),
            "\\begin{tabular}{llllr}\n"
            "\\toprule\n"
            "model & time [ms] & power & plain & parameters \\\\\n"
            "\\midrule\n"
            "small\\_a & 1.50 $\\pm$ 0.25 & $1.50 \\cdot 10^{-3}s$ & 1.50e-03 s & 139,584 \\\\\n"
            "50\\% & 0.00100 $\\pm$ 0.00020 & $1.00 \\cdot 10^{-6}s$ & 1.00e-06 s & 20 \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n");
  EXPECT_EQ(file("table-1.csv"),
            "model,time [ms],power,plain,parameters\n"
            "small_a,1.50 ± 0.25,$1.50 \\cdot 10^{-3}s$,1.50e-03 s,139584\n"
            "50%,0.00100 ± 0.00020,$1.00 \\cdot 10^{-6}s$,1.00e-06 s,20\n");
}

TEST_F(TableFiles, KeepTheSignsOfMarks) {
  store::Run run = run_of("model,pass,time.samples [ms]\nsmall,forward,1\nxl,forward,2\n");
  for (store::CaseResult& result : run.cases) result.series[0].clock = "wall";
  run.cases[1].facts.marks = {{"throttled", "", "held down"}};
  rendered(run,
           "- table: {rows: [model], format: [latex, csv], columns: {ms: {metric: time, unit: "
           "ms}}}");
  EXPECT_THAT(file("table-1.tex"), HasSubstr("xl & 2$\\dagger$ \\\\\n"));
  EXPECT_EQ(file("table-1.csv"), "model,ms,note\nsmall,1,\nxl,2,ms\n");
}

TEST_F(TableFiles, OtherFormatsAreRefused) {
  EXPECT_THAT(
      rendered(run_of(figures), "- table: {format: word, columns: {s: {metric: time, unit: s}}}"),
      HasSubstr("format of a table 'word' does not exist"));
}

}  // namespace
}  // namespace assay::report
