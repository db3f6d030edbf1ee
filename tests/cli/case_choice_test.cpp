#include "cli/case_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/shell_command.h"
#include "cli/show/case_page.h"
#include "run/process/process.h"
#include "store/sample_run.h"

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Lengths 128, 256, 512; ok, oom, oom.
store::Run run_of_three() { return store::testing::sample_run(); }

std::vector<std::int64_t> chosen(const store::Run& run, const std::string& text) {
  const auto cases = choose_cases(run, text);
  EXPECT_TRUE(cases) << cases.error().text();
  std::vector<std::int64_t> numbers;
  if (!cases) return numbers;
  for (const store::CaseResult* each : *cases) numbers.push_back(each->ordinal + 1);
  return numbers;
}

TEST(CaseChoice, ByNumberKeyOrExpression) {
  const store::Run run = run_of_three();
  EXPECT_THAT(chosen(run, "2"), ElementsAre(2));
  EXPECT_THAT(chosen(run, run.cases[2].key), ElementsAre(3));
  EXPECT_THAT(chosen(run, run.cases[1].key.substr(0, 8)), ElementsAre(2));
  EXPECT_THAT(chosen(run, "seq_len >= 256"), ElementsAre(2, 3));
  EXPECT_THAT(chosen(run, "3,1"), ElementsAre(1, 3));
  EXPECT_THAT(chosen(run, run.cases[1].key.substr(0, 12) + ",2,3"), ElementsAre(2, 3));
  EXPECT_THAT(chosen(run, "outcome == oom && seq_len < 500"), ElementsAre(2));
  EXPECT_THAT(chosen(run, "attention == flash && causal"), ElementsAre(1, 2, 3));
}

TEST(KeepCases, KeepsThoseForWhichEveryFilterHolds) {
  store::Run run = run_of_three();
  ASSERT_TRUE(keep_cases({"seq_len >= 256", "seq_len < 500"}, run));
  ASSERT_EQ(run.cases.size(), 1u);
  EXPECT_EQ(to_text(run.cases[0].parameters.at("seq_len")), "256");
  EXPECT_THAT(run.info.first.overrides,
              ::testing::IsSupersetOf({"--filter seq_len >= 256", "--filter seq_len < 500"}));
  ASSERT_TRUE(keep_cases({"seq_len > 1000"}, run));
  EXPECT_TRUE(run.cases.empty());
  store::Run whole = run_of_three();
  const auto unknown = keep_cases({"sq_len > 1"}, whole);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text(), HasSubstr("did you mean 'seq_len'?"));
}

TEST(CaseChoice, ADigitsOnlyKeyIsFoundWhereNoCaseHasTheNumber) {
  store::Run run = run_of_three();
  run.cases[1].key = "12345678" + run.cases[1].key.substr(8);
  EXPECT_THAT(chosen(run, "12345678"), ElementsAre(2));
}

TEST(CaseChoice, RefusesTextThatNamesNoCaseWithAHint) {
  const store::Run run = run_of_three();
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"4", "lists its cases"},
      {"0", "lists its cases"},
      {"1,4", "has no case '4'"},
      {"1,", ""},
      {"ffffffffffff", "has no case"},
      {"seq_len > 9999", "has no case"},
      {"seqlen > 1", "did you mean 'seq_len'"},
      {"seq_len +", ""},
      {"seq_len", "not true or false"},
      {"99999999999999999999999", "has no case"},
      {"'; DROP TABLE runs; --", ""},
      {std::string(100'000, '('), ""}};
  for (const auto& [text, hint] : mistakes) {
    const auto cases = choose_cases(run, text);
    ASSERT_FALSE(cases) << text;
    EXPECT_EQ(cases.error().exit_code, ExitCode::bad_input);
    EXPECT_THAT(cases.error().text(), HasSubstr(hint));
  }
}

TEST(CaseChoice, AShortKeyNamesOneCase) {
  store::Run run = run_of_three();
  EXPECT_EQ(short_key(run, run.cases[0]), run.cases[0].key.substr(0, 12));
  run.cases[1].key = run.cases[0].key.substr(0, 20) + std::string(44, '0');
  run.cases[0].key[20] = '1';
  EXPECT_EQ(short_key(run, run.cases[0]).size(), 21u);
  EXPECT_THAT(chosen(run, short_key(run, run.cases[1])), ElementsAre(2));
}

TEST(CasePage, SaysWhatIsKnown) {
  store::Run run = run_of_three();
  run.cases[1].series = {store::testing::time_series("forward", {1e-3, 2e-3, 3e-3})};
  const std::string page = case_page(run, run.cases[1]);
  for (const char* expected :
       {"model_timing-1, case 2: oom: needs 12 GiB", "seq_len = 256", "attention.scale = 0.125",
        "forward time [cuda_event]: median 2 ms", "n 3", "throttled: false", "\"0123abc\"",
        "\"clean\":false", "flash.so", "session 2",
        "experiment text: \n      | experiment: model_timing\n      | matrix:\n      |   seq_len: "
        "[128, 256]",
        "overrides: --set seq_len=[128]"}) {
    EXPECT_THAT(page, HasSubstr(expected));
  }
  EXPECT_THAT(page, HasSubstr("host: lab2"));
  EXPECT_THAT(page, Not(HasSubstr("lab1"))) << "the machine of another session";
}

TEST(CasePage, DoesNotSteerTheTerminal) {
  store::Run run = run_of_three();
  run.cases[0].reason = "\033]0;title\007 and\rover";
  const std::string page = case_page(run, run.cases[0]);
  EXPECT_EQ(page.find_first_of("\033\007\r"), std::string::npos);
}

TEST(ShellCommand, IsReadBackByAShellAsItWas) {
  const std::vector<std::string> words = {
      "assay",       "",          "it's",       "$(id) `id` $HOME",
      "a b\tc",      "new\nline", "\"q\" \\ !", "*?[x]{1,2}~",
      "#x",          "-n",        "ünï",        "a=b;c|d&e<f>g",
      "seq_len<=256"};
  const auto said = run::capture(
      {{"sh", "-c", "for word in " + shell_command(words) + "; do printf '%s\\0' \"$word\"; done"},
       {},
       false});
  ASSERT_TRUE(said) << said.error().text();
  std::string expected;
  for (const std::string& word : words) expected += word + '\0';
  EXPECT_EQ(said->output, expected);
}

}  // namespace
}  // namespace assay::cli
