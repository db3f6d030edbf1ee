// What programs and observers record, in reports: words, phases, passes without a clock, files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "rendering.h"
#include "store/records/identity.h"

namespace assay::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::cells_of;
using testing_support::markdown_of;
using testing_support::Rows;

store::Series series(std::string pass, std::string metric, std::string part,
                     std::vector<double> samples, std::string unit = "s") {
  store::Series series;
  series.pass = std::move(pass);
  series.metric = std::move(metric);
  series.part = std::move(part);
  series.unit = std::move(unit);
  series.samples = std::move(samples);
  return series;
}

store::Series words(std::string part, std::vector<std::string> words) {
  store::Series series;
  series.pass = "forward";
  series.metric = "dtype";
  series.part = std::move(part);
  series.words = std::move(words);
  return series;
}

store::CaseResult a_case(int size, std::vector<store::Series> all) {
  store::CaseResult result;
  result.ordinal = size;
  result.parameters["size"] = std::int64_t{size};
  store::set_key(result);
  result.series = std::move(all);
  return result;
}

store::Run run_of_cases(std::vector<store::CaseResult> cases) {
  store::Run run;
  run.info.name = "run-1";
  run.info.experiment = "run";
  run.cases = std::move(cases);
  return run;
}

store::Run dtypes() {
  store::CaseResult large = a_case(2, {words("", {"fp32"}), words("gemm", {"bf16"})});
  large.series.push_back(words("", {"bf16", "fp32"}));
  large.series.back().rank = 1;
  return run_of_cases({a_case(1, {words("", {"bf16", "bf16"}), words("gemm", {"fp16"})}),
                       std::move(large), a_case(3, {series("forward", "time", "", {1.0})})});
}

std::string default_report(const store::Run& run, const std::filesystem::path& folder = {},
                           const std::filesystem::path& results = {}) {
  Inputs inputs;
  inputs.sources = {&run};
  inputs.folder = folder;
  inputs.results = results;
  const auto document = build(inputs);
  return document ? *to_markdown(*document) : "ERROR " + document.error().text();
}

TEST(Words, AreCellsThatAreSortedLabelledAndFiltered) {
  const store::Run run = dtypes();
  EXPECT_EQ(cells_of(markdown_of({&run}, R"(
- table:
    rows: size
    columns: {type: {metric: dtype}}
    sort: -type
)")),
            (Rows{{"size", "type"}, {"2", "fp32, bf16"}, {"1", "bf16"}}));
  EXPECT_EQ(cells_of(markdown_of({&run}, R"(
- table:
    rows: size
    columns: {type: {metric: dtype, labels: {bf16: half}, other: mixed}}
    keep: type != nothing
    sort: size
)")),
            (Rows{{"size", "type"}, {"1", "half"}, {"2", "mixed"}}));
  EXPECT_EQ(cells_of(markdown_of({&run}, R"(
- table:
    rows: size
    columns: {type: {metric: dtype}}
    keep: type == bf16
)")),
            (Rows{{"size", "type"}, {"1", "bf16"}}));
}

TEST(Words, AreCellsOfAPivot) {
  const store::Run run = dtypes();
  EXPECT_EQ(cells_of(markdown_of({&run}, R"(
- table:
    rows: part
    where: {size: [1, 2]}
    pivot: {by: size, metric: dtype}
)")),
            (Rows{{"part", "1", "2"}, {"", "bf16", "fp32, bf16"}, {"gemm", "fp16", "bf16"}}));
}

TEST(Words, AreRefusedWhereOnlyNumbersFit) {
  const store::Run run = dtypes();
  const std::string columns = "- table: {rows: size, columns: {type: {metric: dtype}, ";
  EXPECT_THAT(markdown_of({&run}, columns + "twice: {expr: 2 * type}}}\n"),
              HasSubstr("'type' shows dtype, which holds words"));
  EXPECT_THAT(markdown_of({&run}, columns + "half: {expr: sqrt(type) + 1}}}\n"),
              HasSubstr("'type' shows dtype, which holds words"));
  EXPECT_THAT(markdown_of({&run}, columns + "is: {expr: \"if(type == 'bf16', 1, 0)\"}}}\n"),
              Not(HasSubstr("ERROR")));
  EXPECT_THAT(markdown_of({&run}, columns + "median: {metric: dtype, stat: median}}}\n"),
              HasSubstr("dtype holds words: they have no `stat`"));
  EXPECT_THAT(markdown_of({&run}, columns + "rate: {rate: dtype, unit: byte/s}}}\n"),
              HasSubstr("dtype holds words, not counted"));
  EXPECT_THAT(markdown_of({&run}, columns + "}, summary: \"{mean(type)}\"}\n"),
              HasSubstr("no mean or sum"));
  EXPECT_THAT(markdown_of({&run}, "- plot: {x: size, y: {metric: dtype}}\n"),
              HasSubstr("dtype holds words: a plot draws numbers"));
  EXPECT_THAT(markdown_of({&run}, "- timeline: {values: dtype}\n"),
              HasSubstr("dtype holds words: a timeline draws numbers"));
}

// Of 10 ms, 6 are forward and 3 backward.
store::Run phased() {
  std::vector<store::CaseResult> cases;
  for (const int size : {1, 2}) {
    const double scale = size;
    cases.push_back(a_case(size, {series("step", "time", "", {0.010 * scale, 0.010 * scale}),
                                  series("step", "time", "forward", {0.006 * scale}),
                                  series("step", "time", "backward", {0.003 * scale}),
                                  series("step", "peak_memory", "", {4096}, "byte"),
                                  series("step", "peak_memory", "backward", {2048}, "byte")}));
    cases.back().parameters["measure.phases"] = true;
  }
  return run_of_cases(std::move(cases));
}

TEST(Phases, AreATableOfSharesAndNeverTheTotal) {
  const std::string report = default_report(phased());
  EXPECT_THAT(report, HasSubstr("### Phases"));
  const Rows rows = cells_of(report);
  const auto has = [&](const std::vector<std::string>& row) {
    return std::ranges::count(rows, row) > 0;
  };
  EXPECT_TRUE(has({"1", "10 ± 0", "4"})) << report;
  EXPECT_TRUE(has({"1", "step", "forward", "6", "60.0%", ""})) << report;
  EXPECT_TRUE(has({"2", "step", "backward", "6", "30.0%", "2"})) << report;
  store::Run imported = phased();
  for (store::CaseResult& result : imported.cases) result.parameters.erase("measure.phases");
  EXPECT_THAT(default_report(imported), Not(HasSubstr("### Phases")));
}

// A sample of 10 calls takes 100 ms, a phase of one of them 6 ms.
TEST(Phases, AreOfOneCallOfASample) {
  store::CaseResult result = a_case(1, {series("step", "time", "", {0.1, 0.1}),
                                        series("step", "time", "forward", {0.006, 0.006})});
  result.parameters["measure.phases"] = true;
  result.parameters["measure.calls_per_sample"] = std::int64_t{10};
  const Rows rows = cells_of(default_report(run_of_cases({result})));
  EXPECT_TRUE(
      std::ranges::count(rows, (std::vector<std::string>{"step", "forward", "6", "60.0%"})));
}

TEST(UntimedPasses, AreSaidAndShownAsTheyWereRecorded) {
  store::CaseResult result =
      a_case(1, {series("forward", "time", "", {1.0, 1.0}), words("gemm", {"bf16"})});
  result.facts.passes = {"forward", "dtypes"};
  result.series.back().pass = "dtypes";
  result.series.push_back(series("dtypes", "casts", "gemm", {3}, "count"));
  const std::string report = default_report(run_of_cases({result}));
  EXPECT_THAT(report, HasSubstr("**not timed**: dtypes: run once and recorded"));
  EXPECT_THAT(report, HasSubstr("### dtypes"));
  const Rows rows = cells_of(report);
  EXPECT_TRUE(std::ranges::count(rows, (std::vector<std::string>{"dtypes", "gemm", "bf16", "3"})))
      << report;
}

TEST(UntimedPasses, AloneAreNoMissingResult) {
  store::CaseResult result = a_case(1, {words("gemm", {"bf16"})});
  result.facts.passes = {"forward"};
  const std::string report = default_report(run_of_cases({result}));
  EXPECT_THAT(report, Not(HasSubstr("No case of this run has a result")));
  EXPECT_THAT(report, HasSubstr("bf16"));
}

TEST(UntimedPasses, OfManyPartsAreShownInPartAndSayIt) {
  store::CaseResult result = a_case(1, {});
  for (int i = 0; i < 100; ++i) {
    result.series.push_back(series("dtypes", "casts", "layer " + std::to_string(i), {1}, "count"));
  }
  result.facts.passes = {"dtypes"};
  const std::string report = default_report(run_of_cases({result}));
  EXPECT_THAT(report, HasSubstr("These are 60 of 100 rows"));
  EXPECT_EQ(cells_of(report).size(), 61u);
}

class Files : public testing::Test {
 protected:
  Files() {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay_files_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    store::CaseResult result = a_case(1, {series("forward", "time", "", {1.0, 1.0})});
    for (const char* name : {"trace.json", "picture.svg"}) {
      store::Artefact& artefact = result.artefacts.emplace_back();
      artefact.pass = "forward";
      artefact.name = name;
      artefact.file = std::string("artefacts/k/forward/0/") + name;
      artefact.media_type = name[0] == 't' ? "application/json" : "image/svg+xml";
      artefact.bytes = 5;
      artefact.sha256 = sha256_hex("12345");
    }
    run_ = run_of_cases({result, a_case(2, {series("forward", "time", "", {2.0, 2.0})})});
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  void leave(const std::string& name, const std::string& content) {
    const auto file = folder_ / "results/run-1/artefacts/k/forward/0" / name;
    std::filesystem::create_directories(file.parent_path());
    ASSERT_TRUE(write_file(file.string(), content));
  }

  std::filesystem::path folder_;
  store::Run run_;
};

TEST_F(Files, AreLinkedFromWhereTheReportIs) {
  leave("trace.json", "12345");
  leave("picture.svg", "12345");
  const std::string beside = default_report(run_, folder_ / "results/run-1", folder_ / "results");
  EXPECT_THAT(beside, HasSubstr("## Files"));
  EXPECT_THAT(beside, HasSubstr("[trace.json](artefacts/k/forward/0/trace.json)"));
  std::filesystem::create_directories(folder_ / "else where");
  const std::string elsewhere = default_report(run_, folder_ / "else where", folder_ / "results");
  EXPECT_THAT(elsewhere,
              HasSubstr("[trace.json](../results/run-1/artefacts/k/forward/0/trace.json)"));
}

TEST_F(Files, ThatAreNotThereAreNamedWithTheirHash) {
  leave("trace.json", "123456");  // of another size
  std::filesystem::create_symlink("/etc/hostname",
                                  folder_ / "results/run-1/artefacts/k/forward/0/picture.svg");
  for (const std::filesystem::path& results :
       {folder_ / "results", folder_ / "nowhere", std::filesystem::path()}) {
    const std::string report = default_report(run_, folder_, results);
    EXPECT_THAT(report, HasSubstr("trace.json (not here)"));
    EXPECT_THAT(report, HasSubstr("picture.svg (not here)"));
    EXPECT_THAT(report, HasSubstr(sha256_hex("12345").substr(0, 12)));
  }
}

TEST_F(Files, AreChosenByTypeAndCase) {
  const auto rows = [&](const std::string& yaml) {
    return cells_of(markdown_of({&run_}, yaml)).size() - 1;
  };
  EXPECT_EQ(rows("- artefacts:\n"), 2u);
  EXPECT_EQ(rows("- artefacts: {media_type: application/json}\n"), 1u);
  EXPECT_EQ(rows("- artefacts: {media_type: [image/*]}\n"), 1u);
  EXPECT_EQ(rows("- artefacts: {where: {size: 1}, for_each: size, title: 'of {size}'}\n"), 2u);
  EXPECT_THAT(markdown_of({&run_}, "- artefacts: {where: {size: 2}}\n"),
              HasSubstr("have left no files"));
  EXPECT_THAT(markdown_of({&run_}, "- artefacts: {media: x}\n"), HasSubstr("media_type"));
}

TEST(LeftOut, IsSaidInTheEnvironment) {
  store::CaseResult result = a_case(1, {series("forward", "time", "", {1.0, 1.0})});
  result.facts.left_out = {"2 of 4 spans of 'a' are left out"};
  EXPECT_THAT(default_report(run_of_cases({result})),
              HasSubstr("**left out**: 2 of 4 spans of 'a' are left out"));
}

// Observed steps of 12, 13 and 14 ms against 10 ± 0 ms: 1.3, and 1.2 to 1.4.
TEST(ObserverFindings, SayWhatObservingCosts) {
  store::CaseResult result =
      a_case(1, {series("step", "time", "", std::vector<double>(10, 0.010)),
                 series("step", "time", "forward", std::vector<double>(10, 0.001)),
                 series("step", "observed_time", "kernels", {0.012, 0.014, 0.013})});
  const store::Run one = run_of_cases({result});
  EXPECT_THAT(default_report(one), HasSubstr("**step is 1.3× slower under kernels** (1.2–1.4×)."));
  store::CaseResult other = a_case(2, result.series);
  const store::Run two = run_of_cases({result, other});
  EXPECT_THAT(markdown_of({&two}, "- findings: [observers]\n"),
              AllOf(HasSubstr("**step is 1.3× slower under kernels** (1.2–1.4× in 2 cases)."),
                    HasSubstr("**step under kernels**: geometric mean of 2 cases, from 3 steps.")));
  EXPECT_THAT(
      markdown_of({&one}, "- table: {rows: size, columns: {t: {metric: time, unit: ms}}}\n"),
      HasSubstr("10"))
      << "observed times and phases are not mixed in";
}

TEST(ObserverFindings, TellWhichObserverHasSeenNothingInPlaceOfAFailedPass) {
  store::CaseResult result = a_case(1, {series("step", "time", "", std::vector<double>(10, 0.1)),
                                        series("step", "observed_time", "kernels", {})});
  result.series.back().outcome = Outcome::unsupported;
  result.series.back().reason = "no CUPTI here";
  const store::Run run = run_of_cases({result});
  const std::string report = default_report(run);
  EXPECT_THAT(report, HasSubstr("**kernels has not seen step**: unsupported in 1 case: no CUPTI"));
  EXPECT_THAT(report, Not(HasSubstr("**unsupported**")));
}

TEST(ObserverFindings, TakeTheCallsOfASampleIntoAccount) {
  store::CaseResult result = a_case(1, {series("step", "time", "", std::vector<double>(10, 0.1)),
                                        series("step", "observed_time", "memory", {0.02, 0.02})});
  result.parameters["measure.calls_per_sample"] = std::int64_t{10};
  const store::Run run = run_of_cases({result});
  EXPECT_THAT(markdown_of({&run}, "- findings: [observers]\n"),
              HasSubstr("**step is 2× slower under memory**"));
}

}  // namespace
}  // namespace assay::report
