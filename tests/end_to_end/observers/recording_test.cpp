// What a program records beside its times, phases, passes without a clock, and observers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "observers/stored.h"
#include "support/exported.h"

namespace assay::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Ended record(const Folder& folder, const std::string& more,
             const std::vector<std::string>& words = {}) {
  const std::string experiment = "experiment: recorded\nworkload: recording\n" + more;
  std::vector<std::string> command = {"run", folder.write("e.yaml", experiment), "--plugin",
                                      fixture("recording")};
  command.insert(command.end(), words.begin(), words.end());
  return assay(folder.path(), command);
}

const store::Series* find(const store::CaseResult& result, const std::string& pass,
                          const std::string& metric, const std::string& part = "") {
  for (const store::Series& series : result.series) {
    if (series.pass == pass && series.metric == metric && series.part == part) return &series;
  }
  return nullptr;
}

std::vector<double> samples(const store::CaseResult& result, const std::string& pass,
                            const std::string& metric, const std::string& part = "") {
  const store::Series* series = find(result, pass, metric, part);
  return series == nullptr ? std::vector<double>() : series->samples;
}

TEST(Recording, KeepsSeriesWordsSpansAndFiles) {
  const Folder folder;
  const Ended ended = record(folder, "measure: {passes: [step], warmup: 1, samples: 3}\n");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const store::CaseResult result = stored_case(folder);
  EXPECT_THAT(samples(result, "step", "norm", "layer 2"), ElementsAre(1, 2));
  EXPECT_EQ(find(result, "step", "calls")->unit, "count");
  EXPECT_THAT(find(result, "step", "dtype", "layer 1")->words, ElementsAre("float32"));
  const double start_s = samples(result, "step", "span_start", "kernel").at(0);
  EXPECT_GT(start_s, 0);
  EXPECT_LT(start_s, result.wall_s) << "from the case's beginning";
  EXPECT_DOUBLE_EQ(samples(result, "step", "span_end", "kernel").at(0), start_s + 0.5);
  EXPECT_EQ(find(result, "step", "span_start", "kernel")->lane, "stream 7");

  ASSERT_THAT(result.artefacts, SizeIs(2));
  const store::Artefact& trace = result.artefacts.front();
  EXPECT_EQ(trace.name, "trace.json");
  EXPECT_EQ(trace.media_type, "application/json");
  const std::string content = folder.read("results/recorded-1/" + trace.file);
  EXPECT_EQ(content, "{\"pass\": \"step\"}");
  EXPECT_EQ(trace.sha256, sha256_hex(content));
  EXPECT_EQ(trace.bytes, std::ssize(content));
  EXPECT_EQ(folder.read("results/recorded-1/" + result.artefacts.back().file), "12345678");
}

TEST(Recording, RunsAPassWithoutAClockOnce) {
  const Folder folder;
  const Ended ended = record(folder, "measure: {passes: [plan], warmup: 3, samples: 5}\n");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const store::CaseResult result = stored_case(folder);
  EXPECT_THAT(samples(result, "plan", "calls"), ElementsAre(1));
  EXPECT_THAT(samples(result, "plan", "work"), ElementsAre(42));
  EXPECT_EQ(find(result, "plan", "time"), nullptr);
}

// 1 MiB is held from the first phase on; each second phase takes 2 MiB more.
TEST(Recording, TakesThePhasesOfAStep) {
  const Folder folder;
  const Ended ended =
      record(folder, "measure: {passes: [step], warmup: 1, samples: 4, phases: true}\n");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const store::CaseResult result = stored_case(folder);
  const auto total = samples(result, "step", "time");
  const auto first = samples(result, "step", "time", "first");
  const auto second = samples(result, "step", "time", "second");
  ASSERT_EQ(first.size(), 4u);
  ASSERT_EQ(second.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GT(first[i], 0);
    EXPECT_GT(second[i], 0);
    EXPECT_LT(first[i] + second[i], total[i]);
  }
  constexpr double mebibyte = 1 << 20;
  EXPECT_THAT(samples(result, "step", "memory_before", "first"), ElementsAre(0));
  EXPECT_THAT(samples(result, "step", "memory_before", "second"), ElementsAre(mebibyte));
  const double peak = samples(result, "step", "peak_memory", "second").at(0);
  EXPECT_GE(peak, 3 * mebibyte);
  EXPECT_LT(peak, 3.5 * mebibyte);
  EXPECT_EQ(samples(result, "step", "peak_memory").at(0), peak) << "the pass's own is as it was";
  EXPECT_THAT(samples(result, "step", "span_start", "second"), SizeIs(2));
  EXPECT_EQ(find(result, "step", "span_start", "piece 1")->lane, "lane");
  EXPECT_EQ(find(result, "step", "span_start", "second")->lane, "phases");
}

TEST(Recording, LeavesTheKeyOfACaseWithoutNewSettings) {
  const Folder folder;
  ASSERT_EQ(record(folder, "measure: {passes: [plan]}\nfixed: {later: 3}\n").exit_code, 0);
  EXPECT_THAT(stored_case(folder).key_text, ::testing::Not(HasSubstr("later")));
  EXPECT_THAT(stored_case(folder).key_text, ::testing::Not(HasSubstr("observe")));
  EXPECT_THAT(stored_case(folder).key_text, ::testing::Not(HasSubstr("phases")));
  ASSERT_EQ(record(folder, "measure: {passes: [plan]}\nfixed: {later: 4}\n").exit_code, 0);
  EXPECT_THAT(stored_case(folder).key_text, HasSubstr("later=4"));
}

TEST(Recording, AReportShowsADefaultThatTheKeyLeavesOut) {
  const Folder folder;
  const Ended ended =
      record(folder,
             "measure: {passes: [step], warmup: 0, samples: 2}\nmatrix: {later: [3, 4]}\n"
             "report: [{table: {rows: [later], columns: {calls: {metric: calls, part: \"\"}}}}]\n");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::string report = folder.read("results/recorded-1/report.md");
  EXPECT_THAT(report, ::testing::ContainsRegex("\n\\| +3 \\| +[0-9]+ \\|\n\\| +4 \\| +[0-9]+ \\|"))
      << report;
}

TEST(Recording, ObserversLookAfterAllPassesAreTimed) {
  const Folder folder;
  const Ended ended = record(folder,
                             "matrix: {mode: [right, also_right]}\n"
                             "measure: {passes: [step], warmup: 1, samples: 2, observed_steps: 4}\n"
                             "observe: [counting, fresh_counting, refusing]\n");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const auto cases = stored_cases(folder);
  ASSERT_EQ(cases.size(), 2u);
  for (const store::CaseResult& result : cases) {
    EXPECT_THAT(samples(result, "step", "seen", "warm"), ElementsAre(4));
    EXPECT_THAT(samples(result, "step", "seen", "fresh"), ElementsAre(4));
    EXPECT_THAT(samples(result, "step", "observed_time", "counting"), SizeIs(4));
    EXPECT_THAT(samples(result, "step", "time"), SizeIs(2));
    EXPECT_EQ(find(result, "step", "observed_time", "refusing")->outcome, Outcome::unsupported);
  }
}

// By mode of the fixture.
const std::map<std::string, std::string> sentences = {
    {"endless", "more than 1000000 values"},
    {"million", "more than 20000 series"},
    {"terabyte", "artefact_limit"},
    {"large", "artefact_limit"},
    {"backwards", "a span of 'kernel' ends 0.25 s before it begins"},
    {"nan", "is recorded as nan"},
    {"newline", "not one line of UTF-8"},
    {"undeclared", "the metric 'nrom' without declaring it; did you mean 'norm'"},
    {"word_as_number", "declares the metric 'dtype' as text and records numbers"},
    {"whole_time", "only assay takes"},
    {"outside", "cannot be called '../../outside'"},
    {"missing", "'never_written' was announced and not written"},
    {"link", "'link' was announced and not written"}};

TEST(Recording, GoneWrongIsSaidAndKeepsTheTimes) {
  std::vector<std::string> modes;
  for (const auto& [mode, sentence] : sentences) modes.push_back(mode);
  const Folder folder;
  const Ended ended = record(folder, "matrix: {mode: [" + join(modes, ", ") +
                                         "]}\nmeasure: {passes: [step], warmup: 1, samples: 2, "
                                         "artefact_limit: 1 MiB}\n");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto cases = stored_cases(folder);
  ASSERT_EQ(cases.size(), sentences.size());
  for (const store::CaseResult& result : cases) {
    const std::string mode = store::text_of(result.parameters, "mode");
    EXPECT_EQ(result.outcome, Outcome::error) << mode;
    EXPECT_THAT(result.reason, HasSubstr(sentences.at(mode)));
    EXPECT_THAT(samples(result, "step", "time"), SizeIs(2)) << mode;
    EXPECT_THAT(samples(result, "step", "norm", "layer 2"), ElementsAre(1, 2))
        << mode << ": what came before stays";
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "outside"));
}

TEST(Recording, NestedPhasesAreNamedAndTheTotalStays) {
  const Folder folder;
  const Ended ended = record(folder,
                             "fixed: {mode: nested_phases}\n"
                             "measure: {passes: [step], warmup: 1, samples: 2, phases: true}\n");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const store::CaseResult result = stored_case(folder);
  EXPECT_THAT(result.reason, HasSubstr("the phase 'inner' begins within 'outer'"));
  EXPECT_THAT(samples(result, "step", "time"), SizeIs(2));
}

TEST(Recording, AnObserverThatCrashesOrIsGreedyCostsItsObservationAlone) {
  for (const auto& [observer, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"crashing", "SIGSEGV"}, {"greedy", "more than 3 steps"}}) {
    const Folder folder;
    const Ended ended = record(
        folder, "measure: {passes: [step], warmup: 1, samples: 2}\nobserve: [" + observer + "]\n");
    EXPECT_EQ(ended.exit_code, 1) << ended.errors;
    const store::CaseResult result = stored_case(folder);
    EXPECT_THAT(result.reason, HasSubstr(sentence));
    EXPECT_THAT(samples(result, "step", "time"), SizeIs(2));
    EXPECT_EQ(find(result, "step", "time")->outcome, Outcome::ok);
  }
}

TEST(Recording, AnUnknownObserverIsRefusedByName) {
  const Folder folder;
  const Ended ended = record(folder, "observe: [countin]\n");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("unknown observer 'countin'; did you mean 'counting'"));
}

}  // namespace
}  // namespace assay::test
