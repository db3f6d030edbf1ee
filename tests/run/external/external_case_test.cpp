#include "run/external/external_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "external_program.h"

namespace assay::run {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST_F(External, TakesSeriesChecksAndVersions) {
  const auto left = printing(std::string(timed) + R"(
{"check": {"pass": "forward", "file": "f.safetensors"}}
{"unchecked": {"pass": "backward", "reason": "too large"}}
{"done": {"versions": {"torch": "2"}}})");
  EXPECT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  ASSERT_EQ(left.end.series.size(), 1u);
  ASSERT_EQ(left.exchanged.size(), 1u);
  EXPECT_EQ(left.exchanged[0].pass, "forward");
  EXPECT_EQ(left.exchanged[0].file, (folder_.path() / "f.safetensors").string());
  EXPECT_EQ(left.unverified.at("backward"), "too large");
  EXPECT_EQ(left.end.facts.versions.at("torch"), Value("2"));
}

// 20 samples, 1 to 20: the sign test at 95 % runs from the 6th to the 15th, 4.5 from the middle.
TEST_F(External, TellsHowWellItsMedianIsKnownAndThatNoTargetStoppedIt) {
  resolved_.request.parameters["measure.samples"] = std::int64_t{20};
  resolved_.request.parameters["measure.target"] = 0.01;
  const std::string time =
      R"({"series": {"pass": "forward", "metric": "time", "unit": "s", "clock": "wall", "samples": [)"
      "11,2,13,4,15,6,17,8,19,10,1,12,3,14,5,16,7,18,9,20]}}";
  auto timing = printing(time).end.facts.timing["forward"];
  EXPECT_EQ(timing.stopped_by, "count");
  EXPECT_EQ(timing.samples, 20);
  EXPECT_EQ(timing.target, 0.01);
  EXPECT_EQ(timing.clock, "wall");
  EXPECT_NEAR(timing.relative_interval.value(), 4.5 / 10.5, 1e-9);
  resolved_.request.parameters["measure.samples"] = std::int64_t{10};
  resolved_.request.parameters["measure.target"] = std::int64_t{0};
  timing = printing(time).end.facts.timing["forward"];
  EXPECT_EQ(timing.stopped_by, "program");
  EXPECT_FALSE(timing.target);
}

// Each call is between its own events.
TEST_F(External, TellsHowFarACallBetweenEventsMayBeOff) {
  const auto timed_by = [&](const std::string& clock) {
    resolved_.request.parameters["measure.clock"] = clock;
    return printing(R"({"series": {"pass": "forward", "metric": "time", "unit": "s", "clock": ")" +
                    clock + R"(", "samples": [1]}})")
        .end.facts.timing["forward"];
  };
  EXPECT_EQ(timed_by("cuda_event").clock_facts.call_error_s, 0.3e-6);
  EXPECT_FALSE(timed_by("wall").clock_facts.call_error_s);
}

TEST_F(External, WhatItPrintsToStandardErrorIsKeptWhateverBecameOfIt) {
  const auto left = run("cat > /dev/null; echo warning >&2; echo '" + std::string(timed) + "'");
  EXPECT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  EXPECT_EQ(left.end.facts.output, "warning\n");
}

TEST_F(External, IsGivenItsFolderAndTheModules) {
  const auto left = run("read case; echo \"$PYTHONPATH\" >&2; echo \"$case\" >&2; exit 3");
  EXPECT_EQ(left.end.outcome, Outcome::crashed);
  EXPECT_THAT(left.end.reason, HasSubstr(R"("exchange":{"folder":")" + folder_.path().string()));
  const auto path = run("read case; echo \"$PYTHONPATH\" >&2; exit 3");
  EXPECT_THAT(path.end.reason, HasSubstr("exit code 3: /modules"));
}

TEST_F(External, OneThatPrintsWithoutEndIsStopped) {
  resolved_.time_limit_s = 250;  // its output stops it first
  auto left = run("cat > /dev/null; yes");
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_THAT(left.end.reason, HasSubstr("not a JSON object: y"));
  left = run("cat > /dev/null; tr '\\0' x < /dev/zero");
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_EQ(left.end.reason, "the program printed a line of more than 64 MiB");
  left = run("cat > /dev/null; yes '" + std::string(5000, ' ') + "'");
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_EQ(left.end.reason, "the program printed more than 256 MiB");
}

TEST_F(External, ALineLongerThanAPipeIsTakenWhole) {
  const auto left =
      run("cat > /dev/null; printf '%s' '" +
          std::string(timed).substr(0, std::string(timed).size() - 3) +
          "'; yes ', 2' | head -n 300000 | tr -d '\\n'; echo ']}}'; echo '{\"done\": {}}'");
  EXPECT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  ASSERT_EQ(left.end.series.size(), 1u);
  EXPECT_EQ(left.end.series[0].samples.size(), 300'001u);
}

TEST_F(External, MustUseTheClockOfTheCaseAndAnswerEveryPass) {
  resolved_.request.parameters["measure.clock"] = std::string("cuda_event");
  auto left = printing(timed);
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_EQ(left.end.reason,
            "what the program reported as 'time' of 'forward' was taken with the clock 'wall', the "
            "case asks for 'cuda_event'");
  EXPECT_TRUE(left.end.series.empty());

  resolved_.request.parameters["measure.clock"] = std::string("wall");
  resolved_.request.passes = {"forward", "backward"};
  left = printing(timed);
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_EQ(left.end.reason, "the program ended without a time for pass 'backward'");
}

// The mistake is the reason, and its series is dropped.
TEST_F(External, ASeriesMustBeOneOfTheCase) {
  const std::map<std::string, std::string> refused = {
      {R"("pass": "forward", "metric": "time", "unit": "s", "clock": "wall", "samples": [])",
       "'time' of 'forward' has no samples and the outcome ok"},
      {R"("pass": "forward", "metric": "time", "unit": "s", "clock": "wall", "samples": [1, null])",
       "'time' of 'forward' has nan as sample 2"},
      {R"("pass": "forward", "metric": "time", "unit": "s", "clock": "wall", "samples": [-0.5])",
       "'time' of 'forward' has a negative time, -0.5 s"},
      {R"("pass": "forward", "metric": "time", "unit": "ms", "clock": "wall", "samples": [1])",
       "'time' of 'forward' is in 'ms', not in s"},
      {R"("pass": "forward", "metric": "time", "unit": "byte", "clock": "wall", "samples": [1])",
       "'time' of 'forward' is in 'byte', not in s"},
      {R"("pass": "forward", "metric": "peak_memory", "unit": "MiB", "samples": [1])",
       "'peak_memory' of 'forward' is in 'MiB'; the base unit is 'byte'"},
      {R"("pass": "forward", "metric": "length", "unit": "furlong", "samples": [1])",
       "'length' of 'forward' is in 'furlong'; the base units are s, byte, FLOP"},
      {R"("pass": "sideways", "metric": "bytes", "unit": "byte", "samples": [1])",
       "'bytes' of 'sideways' was not asked for; the passes of the case are: forward"},
      {R"("pass": "forward", "metric": "bytes", "unit": "byte", "rank": 1, "samples": [1])",
       "'bytes' of 'forward' is of rank 1"},
      {R"("pass": "forward", "metric": "bytes", "unit": "byte", "part": "a\nb", "samples": [1])",
       "'bytes' of 'forward' has a part with a line break"},
      {R"("pass": "forward", "metric": "mine", "samples": [1], "words": ["bf16"])",
       "'mine' of 'forward' has both words and numbers"},
  };
  for (const auto& [series, reason] : refused) {
    const auto left = printing("{\"series\": {" + series + "}}");
    EXPECT_EQ(left.end.outcome, Outcome::error) << series;
    EXPECT_THAT(left.end.reason, HasSubstr(reason));
    EXPECT_TRUE(left.end.series.empty()) << series;
  }
}

TEST_F(External, ReportsWordsLanesAndParts) {
  const auto left = printing(std::string(timed) + R"(
{"series": {"pass": "forward", "metric": "dtype", "part": "gemm", "words": ["bf16"]}}
{"series": {"pass": "forward", "metric": "time", "part": "gemm", "unit": "s", "clock": "wall", "samples": [1]}}
{"series": {"pass": "forward", "metric": "span_start", "part": "gemm", "lane": "7", "unit": "s", "samples": [1, 3]}}
{"series": {"pass": "forward", "metric": "span_end", "part": "gemm", "lane": "7", "unit": "s", "samples": [2, 2]}}
{"series": {"pass": "forward", "metric": "span_start", "part": "gemm", "lane": "9", "unit": "s", "samples": [1]}}
{"series": {"pass": "forward", "metric": "span_end", "part": "gemm", "lane": "9", "unit": "s", "samples": [2]}})");
  EXPECT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  ASSERT_EQ(left.end.series.size(), 7u);
  EXPECT_EQ(left.end.series[1].words, std::vector<std::string>{"bf16"});
  EXPECT_EQ(left.end.series[3].samples, std::vector<double>{1}) << "one ends before it begins";
  EXPECT_EQ(left.end.series[5].lane, "9");
  ASSERT_EQ(left.end.facts.left_out.size(), 1u);
  EXPECT_THAT(left.end.facts.left_out[0], HasSubstr("1 of 2 spans of 'gemm' in lane '7'"));
}

TEST_F(External, NeedsNoTimeOfAPassThatIsNotTimed) {
  resolved_.request.passes = {"forward", "dtypes"};
  EXPECT_EQ(printing(timed).end.outcome, Outcome::error);
  resolved_.unclocked = {"dtypes"};
  EXPECT_EQ(printing(timed).end.outcome, Outcome::ok);
}

TEST_F(External, UnitsAndOutcomesOfACase) {
  for (const char* unit : {"", "s", "byte", "count", "FLOP/s", "J/token"}) {
    const auto left = printing(std::string(timed) + R"(
{"series": {"pass": "forward", "metric": "mine", "samples": [-1], "unit": ")" +
                               unit + "\"}}");
    EXPECT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
    EXPECT_EQ(left.end.series.size(), 2u);
  }
  const auto left = printing(
      R"({"series": {"pass": "forward", "metric": "time", "outcome": "oom", "reason": "9 GiB"}})");
  EXPECT_EQ(left.end.outcome, Outcome::oom);
  EXPECT_EQ(left.end.reason, "9 GiB");
}

TEST_F(External, TwoAnswersToOneQuestionAreNone) {
  const auto left = printing(
      std::string(timed) +
      "\n{\"series\": {\"pass\": \"forward\", \"metric\": \"time\", \"outcome\": \"oom\"}}");
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_EQ(left.end.reason, "the program reported 'time' of 'forward' more than once");
  ASSERT_EQ(left.end.series.size(), 1u);
  EXPECT_EQ(left.end.series[0].outcome, Outcome::error);
  EXPECT_TRUE(left.end.series[0].samples.empty());
}

TEST_F(External, ClosingItsOutputIsNotItsEnd) {
  resolved_.time_limit_s = 1;
  const std::string printed = "cat > /dev/null; echo '" + std::string(timed) + "'; ";
  auto left = run(printed + "exec 1>&-; exec sleep 50");
  EXPECT_EQ(left.end.outcome, Outcome::timeout);
  EXPECT_EQ(left.end.reason, "the case did not finish within 1.0 s");
  EXPECT_EQ(left.without_exchange, "no tensors were exchanged: " + left.end.reason);
  left = run(printed + "exec 1>&- 2>&-; exec sleep 50");
  EXPECT_EQ(left.end.outcome, Outcome::timeout);

  resolved_.time_limit_s = 60;
  left = run(printed + "exec 1>&-; yes | head -n 500000 >&2; echo last words >&2; exit 3");
  EXPECT_EQ(left.end.outcome, Outcome::crashed);
  EXPECT_EQ(left.end.reason, "the program ended with exit code 3: last words");
}

TEST_F(External, AProgramThatNeverStopsPrintingIsStopped) {
  resolved_.time_limit_s = 1;
  const auto left = run("cat > /dev/null; exec yes >&2");
  EXPECT_EQ(left.end.outcome, Outcome::timeout);
}

// Waiting for the child to end would reach the limit.
TEST_F(External, WhatItLeavesBehindIsNotWaitedFor) {
  const auto left = run("cat > /dev/null; sleep 3000 & echo '" + std::string(timed) + "'");
  EXPECT_EQ(left.end.outcome, Outcome::ok) << left.end.reason;
  EXPECT_EQ(left.end.series.size(), 1u);
}

TEST_F(External, WithoutAFolderThereIsNoExchange) {
  plugin_.command = {"sh", "-c",
                     "read case; case $case in *exchange*) exit 9;; esac; echo '" +
                         std::string(timed) +
                         "'; echo '{\"check\": {\"pass\": \"forward\", \"file\": \"f\"}}'"};
  const auto left = run_with({});
  EXPECT_EQ(left.end.outcome, Outcome::error);
  EXPECT_THAT(left.end.reason, HasSubstr("the program exchanged 'f'"));
  EXPECT_TRUE(left.exchanged.empty());
}

TEST_F(External, ExchangesFilesOfItsFolderOnly) {
  for (const char* file : {"/etc/passwd", "../x", "", ".", ".."}) {
    const auto left = printing(
        std::string(timed) + "\n{\"check\": {\"pass\": \"forward\", \"file\": \"" + file + "\"}}");
    EXPECT_EQ(left.end.outcome, Outcome::error);
    EXPECT_THAT(left.end.reason, HasSubstr("not the name of a file"));
    EXPECT_TRUE(left.exchanged.empty());
  }
}

TEST_F(External, TheWorkerIsAskedWithoutTheProgramsKind) {
  resolved_.request.parameters["world_size"] = std::int64_t{2};
  const auto request = exchange_request(resolved_, {{"forward", "f"}});
  EXPECT_EQ(request.parameters.count("attention"), 0u);
  EXPECT_EQ(request.parameters.at("precision"), Value(std::string("fp32")));
  EXPECT_EQ(request.parameters.at("world_size"), Value(std::int64_t{1}));
  ASSERT_EQ(request.exchanged.size(), 1u);
}

TEST(TemporaryFolderTest, GoesWithWhatIsInIt) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder("exchange");
    path = folder.path();
    ASSERT_TRUE(std::filesystem::is_directory(path));
    std::filesystem::create_directory(path / "more");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolderTest, SaysWhyThereIsNone) {
  const char* own = std::getenv("TMPDIR");
  const std::string before = own == nullptr ? "" : own;
  ::setenv("TMPDIR", "/proc/absent", 1);
  const TemporaryFolder absent("exchange");
  ::setenv("TMPDIR", "/proc", 1);
  const TemporaryFolder unwritable("exchange");
  own == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(absent.path().empty());
  EXPECT_THAT(absent.problem(), HasSubstr("TMPDIR"));
  EXPECT_TRUE(unwritable.path().empty());
  EXPECT_THAT(unwritable.problem(), HasSubstr("no folder can be made in /proc: "));
}

// Three passes: `a` verified, `b` not, `c` without an exchange.
class Findings : public ::testing::Test {
 protected:
  Findings() {
    for (const char* pass : {"a", "b", "c"}) {
      external_.end.series.push_back(
          {.pass = pass, .metric = "time", .unit = "s", .clock = "wall", .samples = {1}});
      external_.end.series.push_back({.pass = pass, .metric = "bytes", .samples = {8}});
    }
    external_.exchanged = {{"a", "a.safetensors"}, {"b", "b.safetensors"}};
    found_.series.push_back({.pass = "a", .metric = "error", .samples = {1e-7}});
  }

  static std::vector<std::string> told(const CaseEnd& end, const std::string& pass) {
    std::vector<std::string> told;
    for (const auto& series : end.series) {
      if (series.pass == pass) {
        told.push_back(series.metric + " " + std::string(to_text(series.outcome)));
      }
    }
    return told;
  }

  ExternalEnd external_;
  CaseEnd found_;
};

TEST_F(Findings, AWrongPassLosesItsFigures) {
  found_.series.push_back({.pass = "b", .metric = "error", .samples = {0.5}});
  found_.series.push_back(
      {.pass = "b", .metric = "time", .outcome = Outcome::wrong, .reason = "out differs"});
  const CaseEnd end = with_findings(std::move(external_), found_, "mine");
  EXPECT_EQ(end.outcome, Outcome::wrong);
  EXPECT_EQ(end.reason, "out differs");
  EXPECT_THAT(told(end, "a"), UnorderedElementsAre("time ok", "bytes ok", "error ok"));
  EXPECT_THAT(told(end, "b"), UnorderedElementsAre("time wrong", "error ok"));
  EXPECT_THAT(told(end, "c"), UnorderedElementsAre("time ok", "bytes ok"));
  EXPECT_THAT(end.facts.unverified,
              UnorderedElementsAre(std::pair("c", "mine: the program exchanges no tensors")));
}

TEST_F(Findings, WhatNobodyCanVerifyIsMarked) {
  found_.series.push_back({.pass = "b",
                           .metric = "error",
                           .outcome = Outcome::unsupported,
                           .reason = "TF32 needs a CUDA device"});
  external_.unverified["c"] = "9 GiB";
  external_.without_exchange = "not said of the others";
  const CaseEnd end = with_findings(std::move(external_), found_, "mine");
  EXPECT_EQ(end.outcome, Outcome::ok);
  EXPECT_THAT(told(end, "b"), UnorderedElementsAre("time ok", "bytes ok"));
  EXPECT_THAT(end.facts.unverified,
              UnorderedElementsAre(std::pair("b", "mine: TF32 needs a CUDA device"),
                                   std::pair("c", "mine: 9 GiB")));
}

TEST_F(Findings, AWorkerThatDiesVerifiesNothing) {
  found_.outcome = Outcome::crashed;
  found_.reason = "signal 9";
  const CaseEnd end = with_findings(std::move(external_), found_, "mine");
  EXPECT_EQ(end.outcome, Outcome::crashed);
  EXPECT_THAT(told(end, "a"), UnorderedElementsAre("time ok", "bytes ok", "error ok"));
  EXPECT_THAT(told(end, "b"), UnorderedElementsAre("time crashed"));
  EXPECT_EQ(end.facts.unverified.size(), 1u);
}

TEST_F(Findings, WhyThereIsNoExchange) {
  external_.exchanged.clear();
  external_.without_exchange = "the program ended with signal 9";
  const CaseEnd end = with_findings(std::move(external_), {}, "mine");
  EXPECT_EQ(end.facts.unverified.at("a"), "mine: the program ended with signal 9");
}

// An error that the program itself reports proves nothing.
TEST_F(Findings, ItsOwnErrorDoesNotCount) {
  external_.exchanged.clear();
  external_.end.series.push_back({.pass = "c", .metric = "error", .samples = {0}});
  const CaseEnd end = with_findings(std::move(external_), {}, "mine");
  EXPECT_EQ(end.facts.unverified.size(), 3u);
}

}  // namespace
}  // namespace assay::run
