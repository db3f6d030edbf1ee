// Every bad input gets one clear message and the documented exit code and leaves results unchanged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* good_head =
    "experiment: bad\nworkload: attention\nfixed: {seq_len: 8, d_head: 8, device: cpu}\n";

// Earlier results, with all digits.
constexpr const char* earlier =
    "attention,seq_len,pass,time.samples [s]\nnaive,64,forward,\"[0.001, 0.00125]\"\n"
    "flash,64,forward,\"[0.0005, 0.000625]\"\n";

struct BadInput {
  const char* name;
  std::string yaml;  // written to bad.yaml
  std::vector<std::string> arguments;
  int exit_code;
  std::vector<std::string> messages;  // parts of the error
};

void PrintTo(const BadInput& input, std::ostream* stream) { *stream << input.name; }

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

// Every file below the folder, except SQLite's beside a database.
std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (!name.ends_with("-wal") && !name.ends_with("-shm")) files.insert(name);
  }
  return files;
}

TEST_P(BadInputTest, IsRefusedWithOneClearMessageAndLeavesEarlierResultsAlone) {
  const Folder folder;
  const BadInput& input = GetParam();
  folder.write("bad.yaml", input.yaml);
  folder.write("good.yaml", std::string(good_head) + "matrix: {attention: [naive]}\n");
  folder.write("garbage.so", "not a library");
  std::filesystem::create_directory(folder.path() / "damaged");
  folder.write("damaged/assay.db", std::string(5000, 'x'));
  folder.write("earlier.csv", earlier);
  ASSERT_EQ(assay(folder.path(), {"import", "earlier.csv", "--experiment", "good"}).exit_code, 0);
  const auto exported = [&] { return assay(folder.path(), {"export", "good-1"}).output; };
  const std::string before = exported();
  ASSERT_THAT(before, HasSubstr("0.000625"));
  const std::set<std::string> files = files_in(folder.path() / "results");

  const Ended ended = assay(folder.path(), input.arguments);
  EXPECT_EQ(ended.exit_code, input.exit_code) << ended.output << ended.errors;
  for (const std::string& message : input.messages) EXPECT_THAT(ended.errors, HasSubstr(message));
  EXPECT_EQ(exported(), before);
  EXPECT_EQ(files_in(folder.path() / "results"), files);
  EXPECT_THAT(assay(folder.path(), {"list", "runs"}).output, ::testing::Not(HasSubstr("bad-1")))
      << "nothing may be stored";
  EXPECT_EQ(folder.read("damaged/assay.db"), std::string(5000, 'x'));
}

const std::vector<std::string> run_it = {"run", "bad.yaml"};

// As CMake recorded it.
std::string fingerprint_of_this_build() {
  return nlohmann::json::parse(std::ifstream(ASSAY_BUILD_DIR "/lib/assay/plugin_build.json"))
      .at("fingerprint");
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadInputTest,
    ::testing::Values(
        BadInput{"malformed_yaml", "experiment: [unclosed", run_it, 2, {"bad.yaml:1:"}},
        BadInput{"unknown_key",
                 std::string(good_head) + "matrx: {}\n",
                 run_it,
                 2,
                 {"did you mean 'matrix'"}},
        BadInput{"unknown_plugin",
                 std::string(good_head) + "matrix: {attention: [naiv]}\n",
                 run_it,
                 2,
                 {"did you mean 'naive'"}},
        BadInput{"unknown_parameter",
                 std::string(good_head) + "matrix: {sequence: [1]}\n",
                 run_it,
                 2,
                 {"bad.yaml:4:"}},
        BadInput{"wrong_type",
                 std::string(good_head) + "matrix: {batch: [many]}\n",
                 run_it,
                 2,
                 {"bad.yaml:4:"}},
        BadInput{"out_of_bounds",
                 std::string(good_head) + "matrix: {batch: [-3]}\n",
                 run_it,
                 2,
                 {"bad.yaml:4:"}},
        BadInput{"duplicate_key",
                 std::string(good_head) + "fixed: {batch: 1}\n",
                 run_it,
                 2,
                 {"bad.yaml:4:1"}},
        BadInput{"empty_axis",
                 std::string(good_head) + "matrix: {batch: []}\n",
                 run_it,
                 2,
                 {"bad.yaml:4:"}},
        BadInput{"alias_bomb",
                 "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                 "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                 "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
                 run_it,
                 2,
                 {"more than 200000 values"}},
        BadInput{"missing_file", "", {"run", "absent.yaml"}, 2, {"absent.yaml"}},
        BadInput{"bad_report",
                 std::string(good_head) + "report: [{tabel: {}}]\n",
                 run_it,
                 2,
                 {"did you mean 'table'"}},
        BadInput{"every_mistake",
                 std::string(good_head) + "matrix: {attention: [naiv]}\nreport: [{tabel: {}}]\n",
                 run_it,
                 2,
                 {"bad.yaml:4:22: unknown attention 'naiv'", "bad.yaml:5:11: block 'tabel'"}},
        BadInput{"second_of_two_files",
                 std::string(good_head) + "report: [{tabel: {}}]\n",
                 {"run", "good.yaml", "bad.yaml"},
                 2,
                 {"bad.yaml:4:11: block 'tabel'"}},
        BadInput{"both_of_two_files",
                 std::string(good_head) + "report: [{tabel: {}}]\n",
                 {"run", "bad.yaml", "absent.yaml"},
                 2,
                 {"bad.yaml:4:11: block 'tabel'", "absent.yaml"}},
        BadInput{"plan_of_every_mistake",
                 std::string(good_head) + "matrix: {attention: [naiv]}\nreport: [{tabel: {}}]\n",
                 {"plan", "bad.yaml"},
                 2,
                 {"bad.yaml:4:22: unknown attention 'naiv'", "bad.yaml:5:11: block 'tabel'"}},
        BadInput{
            "metric_of_another_workload",
            std::string(good_head) + "report: [{table: {columns: {n: {metric: parameters}}}}]\n",
            run_it,
            2,
            {"bad.yaml:4:41: metric 'parameters' does not exist"}},
        BadInput{"nothing_left",
                 std::string(good_head) + "exclude: [{seq_len: 8}]\n",
                 run_it,
                 2,
                 {"bad.yaml:4:1: no case of 'bad' is left; exclude drops all of them"}},

        BadInput{"unknown_command", "", {"rnu"}, 2, {"did you mean 'run'"}},
        BadInput{"unknown_option",
                 good_head,
                 {"run", "bad.yaml", "--fliter", "x"},
                 2,
                 {"did you mean '--filter'"}},
        BadInput{"unknown_device",
                 good_head,
                 {"run", "bad.yaml", "--device", "gpu"},
                 2,
                 {"--device: there is no device 'gpu'", "known: auto, cpu, cuda"}},
        BadInput{
            "no_results_yet", "", {"report", "latest", "--results", "none"}, 4, {"none/assay.db"}},
        BadInput{"damaged_database",
                 "",
                 {"list", "runs", "--results", "damaged"},
                 4,
                 {"damaged/assay.db"}},
        BadInput{"unreadable_plugin",
                 good_head,
                 {"run", "bad.yaml", "--plugin", "garbage.so"},
                 3,
                 {"garbage.so"}},
        BadInput{"no_entry_point",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("no_entry_point")},
                 3,
                 {"assay_plugin_library"}},
        BadInput{"other_build",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("plugin_of_another_build")},
                 3,
                 {fixture("plugin_of_another_build"),
                  "the plugin's build is 'somebody else's build', this assay's is '" +
                      fingerprint_of_this_build() + "'"}},
        BadInput{"other_build_and_what_it_calls_is_missing",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("lacking_plugin_of_another_build")},
                 3,
                 {fixture("lacking_plugin_of_another_build"),
                  "the plugin's build is 'SDK 0, LibTorch of somebody else', this assay's is '" +
                      fingerprint_of_this_build() + "'"}},
        BadInput{"other_build_that_runs_code_as_it_is_loaded",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("loud_plugin_of_another_build")},
                 3,
                 {fixture("loud_plugin_of_another_build"),
                  "the plugin's build is 'SDK 0, LibTorch of somebody else', this assay's is '" +
                      fingerprint_of_this_build() + "'"}},
        BadInput{"what_it_calls_is_missing",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("lacking_plugin_of_this_build")},
                 3,
                 {fixture("lacking_plugin_of_this_build"),
                  "the plugin cannot be loaded: ", "only_in_another_libtorch", "`ldd -r`"}},
        BadInput{"older_sdk",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("plugin_of_an_older_sdk")},
                 3,
                 {fixture("plugin_of_an_older_sdk"),
                  "built for SDK version 0 (descriptor of 40 bytes), this assay has version 1 "
                  "(40 bytes)"}},
        BadInput{"descriptor_of_another_size",
                 good_head,
                 {"run", "bad.yaml", "--plugin", fixture("plugin_of_another_size")},
                 3,
                 {fixture("plugin_of_another_size"),
                  "built for SDK version 1 (descriptor of 48 bytes), this assay has version 1 "
                  "(40 bytes)"}},
        BadInput{"duplicate_plugin",
                 good_head,
                 {"list", "attention", "--plugin", fixture("readme_plugin"), "--plugin",
                  fixture("readme_plugin")},
                 3,
                 {"already the name of a plugin"}},
        BadInput{"missing_import", "", {"import", "absent.csv"}, 2, {"absent.csv"}}),
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
