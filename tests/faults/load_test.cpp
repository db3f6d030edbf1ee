// Plugins that misbehave as their library is loaded or as they describe themselves.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "struck_case.h"

namespace assay::faults {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct LoadFault {
  std::string name;
  std::string done;
  std::string outcome;  // in a worker
  std::string reason;   // an extended regular expression
};

void PrintTo(const LoadFault& fault, std::ostream* stream) { *stream << fault.name; }
std::string name_of(const ::testing::TestParamInfo<LoadFault>& tested) { return tested.param.name; }

constexpr const char* three_cases =
    "experiment: load\nworkload: attention\n"
    "fixed: {batch: 1, heads: 1, seq_len: 5, d_head: 8, device: cpu}\n"
    "measure: {passes: [forward], warmup: 1, samples: 2, timeout: 3 min}\n"
    "include: [{attention: naive}, {attention: hostile_load, measure.timeout: TIMEOUT}, "
    "{attention: naive, repeat: 1}]\n";

std::string with_timeout(const std::string& timeout) {
  std::string text = three_cases;
  return text.replace(text.find("TIMEOUT"), 7, timeout);
}

std::vector<std::string> words() {
  return {"run", "load.yaml", "--plugin", test::fixture("hostile_load")};
}

// While the host lists the plugins: nothing runs, since the file cannot be used.
class Listing : public ::testing::TestWithParam<LoadFault> {};

TEST_P(Listing, IsRefusedWithTheFilesName) {
  Trial trial("Plugins as they are loaded");
  trial.environment["ASSAY_CACHE"] = (trial.folder().path() / "cache").string();
  trial.environment["HOSTILE_LOAD"] = GetParam().name;
  trial.environment["ASSAY_HOST_MEMORY_LIMIT"] = "3 GiB";
  if (GetParam().name == "hang") trial.environment["ASSAY_LOAD_TIMEOUT"] = "6 s";
  trial.folder().write("load.yaml", with_timeout("3 min"));
  const End end = trial.run(words());
  EXPECT_EQ(end.exit_code, 3) << end.output;
  EXPECT_THAT(end.errors, HasSubstr("hostile_load.so"));
  EXPECT_THAT(end.errors, ContainsRegex(GetParam().reason));
  EXPECT_FALSE(std::filesystem::exists(trial.database()));
  // The fault is not cached: without it the same file is good.
  trial.environment.erase("HOSTILE_LOAD");
  trial.environment.erase("ASSAY_LOAD_TIMEOUT");
  EXPECT_EQ(trial.run({"list", "attention", "--plugin", test::fixture("hostile_load")}).exit_code,
            0);
  std::string reason = end.errors.substr(0, end.errors.find_last_not_of('\n') + 1);
  trial.record(GetParam().done + ", where plugins are listed", "exit code 3", reason,
               "nothing was run");
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Listing,
    ::testing::Values(
        LoadFault{"throw", "throws as its library is loaded", "", "thrown while loading|SIGABRT"},
        LoadFault{"segfault", "writes through a null pointer as its library is loaded", "",
                  "SIGSEGV"},
        LoadFault{"exit", "calls exit(0) as its library is loaded", "", "exit code 0"},
        LoadFault{"hang", "sleeps as its library is loaded; looking at it may take 6 s", "",
                  "hostile_load\\.so: looking at this plugin was stopped: "
                  "it did not end within 6\\.0 s; .*ASSAY_LOAD_TIMEOUT"},
        LoadFault{"fill", "allocates host memory without end as its library is loaded", "",
                  "hostile_load\\.so: looking at this plugin was stopped: "
                  "host memory ran out: .* the limit of ASSAY_HOST_MEMORY_LIMIT is 3\\.00 GiB"},
        LoadFault{"describe", "throws as it is asked for its options", "",
                  "thrown while describing"}),
    name_of);

// Its output is neither taken for the list nor kept.
TEST(ListingOfGarbage, IsReadAsIfNothingHadBeenPrinted) {
  Trial trial("Plugins as they are loaded");
  trial.environment["ASSAY_CACHE"] = (trial.folder().path() / "cache").string();
  trial.environment["HOSTILE_LOAD"] = "garbage";
  const std::vector<std::string> list = {"list", "attention", "--plugin",
                                         test::fixture("hostile_load")};
  const End end = trial.run(list);
  EXPECT_EQ(end.exit_code, 0) << end.errors.substr(0, 1000);
  EXPECT_THAT(end.output, HasSubstr("hostile_load"));
  EXPECT_EQ(end.errors, "");
  trial.environment.erase("HOSTILE_LOAD");
  EXPECT_EQ(end.output, trial.run(list).output);
  trial.record("prints 8 MiB of random bytes as its library is loaded, where plugins are listed",
               "exit code 0", "", "it is listed");
}

// While a worker loads it for a case: only the case is lost.
class Loading : public ::testing::TestWithParam<LoadFault> {};

TEST_P(Loading, CostsItsCaseAlone) {
  Trial trial("Plugins as they are loaded");
  trial.environment["HOSTILE_LOAD"] = GetParam().name;
  trial.environment["HOSTILE_LOAD_IN"] = "worker";
  trial.environment["ASSAY_HOST_MEMORY_LIMIT"] = "3 GiB";
  trial.folder().write("load.yaml",
                       with_timeout(GetParam().outcome == "timeout" ? "4 s" : "3 min"));
  const End end = trial.run(words());
  const Struck struck{1, 3, GetParam().outcome, GetParam().reason, "", ""};
  const auto result = expect_told_everywhere(trial, end, struck);
  ASSERT_TRUE(result);
  record_struck(trial, GetParam().done + ", in the worker of a case", *result, struck);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Loading,
    ::testing::Values(
        LoadFault{"throw", "throws as its library is loaded", "error",
                  "/hostile_load.so: the plugin throws as it is loaded: thrown while loading; "},
        LoadFault{"segfault", "writes through a null pointer as its library is loaded", "crashed",
                  "^the worker ended with signal 11 \\(SIGSEGV: Segmentation fault\\)"},
        LoadFault{"exit", "calls exit(0) as its library is loaded", "crashed",
                  "^the worker ended with exit code 0$"},
        LoadFault{"hang", "sleeps as its library is loaded; its case may take 4 s", "timeout",
                  "^the case did not finish within 4\\.0 s"},
        LoadFault{"fill", "allocates host memory without end as its library is loaded", "oom",
                  "^host memory ran out: [0-9.]+ GiB in use, the limit of "
                  "ASSAY_HOST_MEMORY_LIMIT is 3\\.00 GiB"},
        LoadFault{"garbage", "prints 8 MiB of random bytes as its library is loaded", "ok", "^$"}),
    name_of);

}  // namespace
}  // namespace assay::faults
