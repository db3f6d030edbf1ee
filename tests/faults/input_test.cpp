// Large, endless and misleading inputs.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "trial.h"

namespace assay::faults {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// MiB; reading an input until its refusal must need less.
constexpr double most_mib = 512;

constexpr const char* small_experiment =
    "experiment: input\nworkload: attention\n"
    "fixed: {batch: 1, heads: 1, seq_len: 5, d_head: 8, attention: naive, device: cpu}\n"
    "measure: {passes: [forward], warmup: 1, samples: 2}\n";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Refused as wrong input, with a message, before any work.
void expect_refused(const Trial& trial, const std::vector<std::string>& arguments,
                    const std::string& reason, const std::string& done) {
  // Caches the catalogue first, so that the memory is only the program's.
  trial.run({"list", "attention"});
  const End end = trial.run(arguments, 30);
  EXPECT_EQ(end.exit_code, 2) << end.output << end.errors;
  EXPECT_THAT(end.errors, ContainsRegex(reason));
  EXPECT_LT(end.peak_mib, most_mib);
  EXPECT_EQ(trial.stored().cases.size(), 0u);
  trial.expect_sound();
  trial.record(done, "exit code 2", first_line(end.errors).substr(0, 300), "nothing was run");
}

// A file of one line, a GiB long.
void write_gigabyte(const Trial& trial, const std::string& name, const std::string& head) {
  std::ofstream file(trial.folder().path() / name, std::ios::binary);
  file << head;
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 1024; ++i) file << piece;
}

TEST(Input, AnExperimentWithALineOfAGibibyte) {
  Trial trial("Inputs");
  write_gigabyte(trial, "long.yaml", "experiment: ");
  expect_refused(trial, {"run", "long.yaml"}, "long.yaml.*1.00 MiB",
                 "an experiment with a line of 1 GiB");
}

TEST(Input, AnImportWithALineOfAGibibyte) {
  Trial trial("Inputs");
  write_gigabyte(trial, "long.jsonl", "{\"case\":\"");
  expect_refused(trial, {"import", "long.jsonl"},
                 "long.jsonl.*(268435456 bytes|more than 33554432)",
                 "an import with a line of 1 GiB");
}

TEST(Input, AnImportWithALineOf200Mebibytes) {
  Trial trial("Inputs");
  write_gigabyte(trial, "long.jsonl", "{\"case\":\"");
  std::filesystem::resize_file(trial.folder().path() / "long.jsonl", 200u << 20);
  expect_refused(trial, {"import", "long.jsonl"},
                 "long.jsonl.*(268435456 bytes|more than 33554432)",
                 "an import, of a size that is accepted, with a line of 200 MiB");
}

TEST(Input, AMatrixOfABillionTimesAThousandCases) {
  Trial trial("Inputs");
  std::string list;
  for (int value = 1; value <= 1000; ++value)
    list += fmt::format("{}{}", value > 1 ? ", " : "", value);
  trial.folder().write(
      "large.yaml",
      fmt::format("experiment: large\nworkload: attention\n"
                  "matrix: {{batch: [{0}], heads: [{0}], seq_len: [{0}], d_head: [{0}]}}\n",
                  list));
  expect_refused(trial, {"run", "large.yaml"}, "1000000000000|10\\^12|1,000,000,000,000",
                 "a matrix of 10^12 cases");
}

TEST(Input, ARunNamedAsAPathElsewhere) {
  Trial trial("Inputs");
  trial.folder().write("evil.jsonl",
                       "{\"run\":\"../../elsewhere\",\"case\":{\"seq_len\":1},\"pass\":\"forward\","
                       "\"metric\":\"time\",\"unit\":\"s\",\"samples\":[1]}\n");
  expect_refused(trial, {"import", "evil.jsonl"}, "\\.\\./\\.\\./elsewhere",
                 "an import whose run is named ../../elsewhere");
  EXPECT_FALSE(std::filesystem::exists(trial.folder().path().parent_path() / "elsewhere"));
}

TEST(Input, TextThatIsSqlAndShell) {
  Trial trial("Inputs");
  std::string text = small_experiment;
  text.replace(text.find("workload"), 0,
               "title: \"'); DROP TABLE cases; --  $(touch owned) `touch owned` ; touch owned\"\n");
  trial.folder().write(
      "text.yaml",
      text + "report: [{heading: {level: 2, text: \"$(touch owned) `touch owned`\"}}]\n");
  const End end = trial.run({"run", "text.yaml"});
  EXPECT_EQ(end.exit_code, 0) << end.errors;
  trial.expect_sound();
  EXPECT_EQ(trial.stored().cases.size(), 1u);
  EXPECT_THAT(trial.stored().info.title, HasSubstr("DROP TABLE"));
  EXPECT_FALSE(std::filesystem::exists(trial.folder().path() / "owned"));
  trial.record("a title and a text that are SQL and shell commands", "exit code 0",
               "they are stored and shown as text", "1 of 1 ok");
}

}  // namespace
}  // namespace assay::faults
