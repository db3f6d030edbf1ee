// External programs that break the protocol.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "struck_case.h"

namespace assay::faults {
namespace {

struct ProgramFault {
  std::string name;
  std::string done;
  std::string script;  // of sh
  std::string outcome;
  std::string reason;  // an extended regular expression
};

void PrintTo(const ProgramFault& fault, std::ostream* stream) { *stream << fault.name; }

constexpr const char* series =
    "echo '{\"series\": {\"pass\": \"forward\", \"metric\": \"time\", \"unit\": \"s\", \"clock\": "
    "\"wall\", \"samples\": [0.01, 0.01]}}'\n";

class Program : public ::testing::TestWithParam<ProgramFault> {};

TEST_P(Program, CostsItsCaseAlone) {
  const ProgramFault& fault = GetParam();
  Trial trial("External programs");
  trial.folder().write("program.sh", fault.script);
  trial.folder().write("program.yaml",
                       "kind: attention\nname: program\ndescription: Misbehaves.\n"
                       "command: [sh, program.sh]\nworkloads: [attention]\n");
  trial.folder().write(
      "external.yaml",
      "experiment: external\nworkload: attention\n"
      "fixed: {batch: 1, heads: 1, seq_len: 5, d_head: 8, device: cpu}\n"
      "measure: {passes: [forward], warmup: 1, samples: 2}\n" +
          fmt::format(
              "include: [{{attention: program, measure.timeout: {}}}, {{attention: naive}}]\n",
              fault.outcome == "timeout" ? "4 s" : "2 min"));
  const End end =
      trial.run({"run", "external.yaml", "--plugin", "program.yaml", "--allow-external"});
  const Struck struck{0, 2, fault.outcome, fault.reason, "", ""};
  const auto result = expect_told_everywhere(trial, end, struck);
  ASSERT_TRUE(result);
  record_struck(trial, fault.done, *result, struck);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Program,
    ::testing::Values(
        ProgramFault{"says_nothing", "ends without a word", "exit 0\n", "error",
                     "^the program ended without a time for pass 'forward'$"},
        ProgramFault{"exits_3", "ends with exit code 3", "echo 'no luck' >&2; exit 3\n", "crashed",
                     "^the program ended with exit code 3: no luck$"},
        ProgramFault{"segfaults", "is killed by signal 11", "kill -SEGV $$\n", "crashed",
                     "^the program ended with signal 11 \\(SIGSEGV: Segmentation fault\\)"},
        ProgramFault{"hangs", "never ends; its case may take 4 s", "sleep 1000\n", "timeout",
                     "^the case did not finish within 4\\.0 s"},
        ProgramFault{"prints_garbage", "prints random bytes",
                     "printf '\\377'; head -c 100000 /dev/urandom\n", "error",
                     "^the program printed a line that is not a JSON object: "
                     "\xef\xbf\xbd[^\x01-\x08\x0b-\x1f]*$"},
        ProgramFault{"prints_a_long_line", "prints a line that never ends",
                     "cat /dev/zero | tr '\\0' x\n", "error",
                     "^the program printed a line of more than 64 MiB$"},
        ProgramFault{"prints_lines_without_end", "prints lines without end", "yes '{}'\n", "error",
                     "^the program printed more than 256 MiB$"},
        ProgramFault{"says_everything_twice", "tells the time of a pass twice",
                     std::string(series) + series, "error",
                     "^the program reported 'time' of 'forward' more than once$"},
        ProgramFault{"invents_a_pass", "tells the time of a pass nobody asked for",
                     "echo '{\"series\": {\"pass\": \"sideways\", \"metric\": \"time\", \"unit\": "
                     "\"s\", \"clock\": \"wall\", \"samples\": [1]}}'\n",
                     "error",
                     "^what the program reported as 'time' of 'sideways' was not asked for"},
        ProgramFault{"tells_no_number", "tells a time that is no number",
                     "echo '{\"series\": {\"pass\": \"forward\", \"metric\": \"time\", \"unit\": "
                     "\"s\", \"clock\": \"wall\", \"samples\": [null]}}'\n",
                     "error",
                     "^what the program reported as 'time' of 'forward' has nan as sample 1$"},
        ProgramFault{"points_elsewhere", "hands over a file outside its folder",
                     std::string(series) + "echo '{\"check\": {\"pass\": \"forward\", \"file\": "
                                           "\"../../etc/passwd\"}}'\n",
                     "error",
                     "^the program exchanged '../../etc/passwd', which is not the name of a file"},
        ProgramFault{"leaves_a_child", "leaves a child behind that holds its output open",
                     "sleep 1000 & exit 3\n", "crashed", "^the program ended with exit code 3"},
        ProgramFault{"leaves_a_daemon", "leaves a daemon in a session of its own",
                     "setsid sleep 1000 & exit 3\n", "crashed",
                     "^the program ended with exit code 3"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace assay::faults
