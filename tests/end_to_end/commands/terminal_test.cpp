// The output of a run at a terminal and in a log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* three_cases =
    "experiment: seen\nworkload: attention\n"
    "matrix: {attention: [test_right, test_declines, test_throws]}\n"
    "fixed: {batch: 1, heads: 2, seq_len: 17, d_head: 8, causal: true, device: cpu}\n"
    "measure: {passes: [forward], warmup: 1, samples: 2, isolation: case}\n";

// The line with this beginning.
std::string line_of(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(Terminal, ShowsEveryReasonAboveTheBarAndInTheSummary) {
  const Folder folder;
  const Ended ended = assay_at_terminal(
      folder.path(),
      {"run", folder.write("seen.yaml", three_cases), "--plugin", fixture("attention_variants")});
  if (ended.exit_code == -1) GTEST_SKIP() << ended.errors;
  EXPECT_EQ(ended.exit_code, 1) << ended.output;
  EXPECT_THAT(line_of(ended.output, "2/3 attention=test_declines: unsupported"),
              HasSubstr("declined on purpose"))
      << ended.output;
  EXPECT_THAT(line_of(ended.output, "3/3 attention=test_throws: error"),
              HasSubstr("thrown on purpose"));
  EXPECT_THAT(ended.output, Not(HasSubstr("1/3 attention=test_right: ok"))) << "the bar says it";
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 1 ok, 1 unsupported, 1 error\r\n"));
  EXPECT_THAT(line_of(ended.output, "  unsupported, case 2: "), HasSubstr("declined on purpose"));
  EXPECT_THAT(line_of(ended.output, "  error, case 3: "), HasSubstr("thrown on purpose"));
  const std::size_t report = ended.output.find("report: "),
                    findings = ended.output.find("Findings");
  ASSERT_NE(findings, std::string::npos) << ended.output;
  EXPECT_GT(findings, report) << "the terminal ends with them";
}

TEST(Log, HasALineForEveryCaseAndTheSummary) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"run", folder.write("seen.yaml", three_cases),
                                            "--plugin", fixture("attention_variants")});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("1/3 attention=test_right: ok"));
  EXPECT_THAT(line_of(ended.errors, "2/3 attention=test_declines: unsupported"),
              HasSubstr("declined on purpose"));
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 1 ok, 1 unsupported, 1 error\n"));
  EXPECT_THAT(line_of(ended.output, "  error, case 3: "), HasSubstr("thrown on purpose"));
  EXPECT_THAT(assay(folder.path(), {"report", "latest"}).output,
              HasSubstr("outcomes: 1 ok, 1 unsupported, 1 error\n"));
}

}  // namespace
}  // namespace assay::test
