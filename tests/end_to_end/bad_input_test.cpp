// Every bad input gets one clear message and the documented exit code, and leaves results alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* good_head =
    "experiment: bad\nworkload: attention\nfixed: {seq_len: 8, d_head: 8, device: cpu}\n";

struct BadInput {
  const char* name;
  std::string yaml;  // written to bad.yaml
  std::vector<std::string> arguments;
  int exit_code;
  const char* message;
};

void PrintTo(const BadInput& input, std::ostream* stream) { *stream << input.name; }

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithOneClearMessage) {
  const Folder folder;
  const BadInput& input = GetParam();
  folder.write("bad.yaml", input.yaml);
  folder.write("garbage.so", "not a library");
  std::filesystem::create_directory(folder.path() / "damaged");
  folder.write("damaged/assay.db", std::string(5000, 'x'));
  const Ended ended = assay(folder.path(), input.arguments);
  EXPECT_EQ(ended.exit_code, input.exit_code) << ended.output << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr(input.message));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "results")) << "nothing may be written";
  EXPECT_EQ(folder.read("damaged/assay.db"), std::string(5000, 'x'));
}

const std::vector<std::string> run_it = {"run", "bad.yaml"};

INSTANTIATE_TEST_SUITE_P(
    Table, BadInputTest,
    ::testing::Values(
        BadInput{"malformed_yaml", "experiment: [unclosed", run_it, 2, "bad.yaml:1:"},
        BadInput{"unknown_key", std::string(good_head) + "matrx: {}\n", run_it, 2,
                 "did you mean 'matrix'"},
        BadInput{"unknown_plugin", std::string(good_head) + "matrix: {attention: [naiv]}\n", run_it,
                 2, "did you mean 'naive'"},
        BadInput{"unknown_parameter", std::string(good_head) + "matrix: {sequence: [1]}\n", run_it,
                 2, "bad.yaml:4:"},
        BadInput{"wrong_type", std::string(good_head) + "matrix: {batch: [many]}\n", run_it, 2,
                 "bad.yaml:4:"},
        BadInput{"out_of_bounds", std::string(good_head) + "matrix: {batch: [-3]}\n", run_it, 2,
                 "bad.yaml:4:"},
        BadInput{"duplicate_key", std::string(good_head) + "fixed: {batch: 1}\n", run_it, 2,
                 "bad.yaml:4:1"},
        BadInput{"empty_axis", std::string(good_head) + "matrix: {batch: []}\n", run_it, 2,
                 "bad.yaml:4:"},
        BadInput{"alias_bomb",
                 "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                 "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                 "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
                 run_it, 2, "more than 200000 values"},
        BadInput{"missing_file", "", {"run", "absent.yaml"}, 2, "absent.yaml"},
        BadInput{"bad_report", std::string(good_head) + "report: [{tabel: {}}]\n", run_it, 2,
                 "did you mean 'table'"},
        BadInput{"unknown_command", "", {"rnu"}, 2, "did you mean 'run'"},
        BadInput{"unknown_option",
                 good_head,
                 {"run", "bad.yaml", "--fliter", "x"},
                 2,
                 "did you mean '--filter'"},
        BadInput{
            "no_results_yet", "", {"report", "latest", "--results", "none"}, 4, "none/assay.db"},
        BadInput{"damaged_database",
                 "",
                 {"list", "runs", "--results", "damaged"},
                 4,
                 "damaged/assay.db"},
        BadInput{"unreadable_plugin",
                 good_head,
                 {"run", "bad.yaml", "--plugin", "garbage.so"},
                 3,
                 "garbage.so"},
        BadInput{"no_entry_point",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("no_entry_point")},
                 3,
                 "assay_plugin_library"},
        BadInput{"other_build",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("plugin_of_another_build")},
                 3,
                 "somebody else's build"},
        BadInput{"duplicate_plugin",
                 good_head,
                 {"list", "attention", "--plugin", fixture("readme_plugin"), "--plugin",
                  fixture("readme_plugin")},
                 3,
                 "already the name of a plugin"},
        BadInput{"missing_import", "", {"import", "absent.csv"}, 2, "absent.csv"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(ReadmeTest, TheSmallestPluginIsListed) {
  const Folder folder;
  const Ended ended =
      assay(folder.path(), {"list", "attention", "--plugin", fixture("readme_plugin")});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("mine"));
}

}  // namespace
}  // namespace assay::test
