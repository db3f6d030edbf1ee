#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/commands/cli.h"
#include "store/exchange/export.h"
#include "store/exchange/import.h"
#include "store/temporary_folder.h"

namespace assay::cli {
namespace {

struct Ended {
  int exit_code = 0;
  std::string output;
  std::string errors;
};

Ended assay(std::vector<std::string> words) {
  words.insert(words.begin(), "assay");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ended ended;
  ended.exit_code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  std::fflush(nullptr);
  ended.output = ::testing::internal::GetCapturedStdout();
  ended.errors = ::testing::internal::GetCapturedStderr();
  return ended;
}

class CompareCommand : public store::testing::TemporaryFolder {
 protected:
  // Exports a run of two cases as JSON Lines; the second takes `scale` ms, the first 2 ms.
  std::string exported(const std::string& name, double scale, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> noise(0, 0.002);
    std::string csv = "attention,pass,time.samples [ms]\n";
    for (const auto& [attention, median] : {std::pair("naive", 2.0), std::pair("flash", scale)}) {
      csv += std::string(attention) + ",forward,[";
      for (int i = 0; i < 40; ++i) csv += std::to_string(median * std::exp(noise(generator))) + " ";
      csv.back() = ']';
      csv += "\n";
    }
    auto run = store::import_text(csv, "attention.csv");
    EXPECT_TRUE(run) << run.error().text();
    run->info.name = name;
    std::ostringstream text;
    EXPECT_TRUE(store::export_json_lines(*run, text));
    return write(name + ".jsonl", text.str()).string();
  }

  std::string between_runs = "0%";

  std::string results() const { return file("results").string(); }

  Ended compare(std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    words.insert(words.end(), {"--results", results(), "--between-runs", between_runs});
    return assay(words);
  }
};

TEST_F(CompareCommand, OfImportedRunsGatesOnASlowerCase) {
  for (const auto& [name, scale] : {std::pair("main-1", 1.0), std::pair("mine-1", 1.1)}) {
    const Ended imported = assay({"import", exported(name, scale, 3), "--results", results()});
    ASSERT_EQ(imported.exit_code, 0) << imported.errors;
  }
  const Ended seen = compare({"main-1", "mine-1"});
  EXPECT_EQ(seen.exit_code, 0) << seen.errors;
  EXPECT_NE(seen.output.find("1 slower, 1 same."), std::string::npos) << seen.output;
  const Ended gated = compare({"main-1", "mine-1", "--fail-on", "slower:5%"});
  EXPECT_EQ(gated.exit_code, 1);
  EXPECT_EQ(gated.output, seen.output);
  EXPECT_EQ(gated.errors, "--fail-on: 1 of 2 slower by 5 %\n");
  EXPECT_EQ(compare({"main-1", "mine-1", "--fail-on", "slower:15%"}).exit_code, 0);
  EXPECT_EQ(compare({"mine-1", "main-1", "--fail-on", "slower:5%"}).exit_code, 0);
  EXPECT_EQ(compare({"mine-1", "main-1", "--fail-on", "slower", "--fail-on", "faster"}).exit_code,
            1);
  EXPECT_EQ(compare({"main-1", "mine-1", "--fail-on", "slower", "--least", "20%"}).exit_code, 0);
}

TEST_F(CompareCommand, OfSingleRunsSupposesThatProcessesDiffer) {
  const std::string a = exported("one", 1.0, 1), near = exported("two", 1.04, 2);
  EXPECT_EQ(compare({a, near, "--fail-on", "slower"}).exit_code, 1);
  between_runs = "1.5%";
  const Ended supposed = compare({a, near, "--fail-on", "slower"});
  EXPECT_EQ(supposed.exit_code, 0);
  EXPECT_NE(supposed.output.find("a single run a side cannot show so small a difference"),
            std::string::npos)
      << supposed.output;
  EXPECT_NE(supposed.output.find("1.5 % is assumed"), std::string::npos) << supposed.output;
  EXPECT_NE(
      supposed.errors.find("--fail-on slower: UNDECIDED for 2 of 2 (attention naive, forward; "
                           "attention flash, forward)"),
      std::string::npos)
      << supposed.errors;
  EXPECT_EQ(compare({a, near, "--fail-on", "slower,undecided"}).exit_code, 1);
  EXPECT_EQ(compare({a, near, "--fail-on", "slower:15%,undecided"}).exit_code, 0);
  const std::string far = exported("three", 1.1, 3);
  EXPECT_EQ(compare({a, far, "--fail-on", "slower:5%"}).exit_code, 1);
}

TEST_F(CompareCommand, OfFilesNeedsNoDatabase) {
  const std::string a = exported("one", 1.0, 1), b = exported("two", 0.8, 2);
  const Ended json = compare({a, b, "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.errors;
  const auto parsed = nlohmann::json::parse(json.output);
  EXPECT_EQ(parsed["counts"], nlohmann::json({{"faster", 1}, {"same", 1}}));
  EXPECT_NEAR(parsed["results"][1]["ratio"].get<double>(), 0.8, 0.01);
  const Ended markdown = compare({a, b, "--format", "markdown"});
  EXPECT_EQ(markdown.output.find("# "), 0u);
  EXPECT_FALSE(std::filesystem::exists(results()));
}

TEST_F(CompareCommand, OfNothingInCommonFails) {
  const std::string a = exported("one", 1.0, 1);
  const std::string other =
      write("other.csv", "norm,pass,time.samples [ms]\nrms,forward,[1 1 1 1 1]\n").string();
  const Ended ended = compare({a, other});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.output.find("3 not-compared."), std::string::npos) << ended.output;
  EXPECT_EQ(ended.errors, "nothing could be compared\n");
}

TEST_F(CompareCommand, RefusesWhatItDoesNotUnderstand) {
  const std::string a = exported("one", 1.0, 1);
  const auto refusal = [&](std::vector<std::string> words) {
    const Ended ended = compare(std::move(words));
    EXPECT_EQ(ended.exit_code, 2) << ended.output;
    EXPECT_EQ(ended.output, "");
    return ended.errors;
  };
  EXPECT_NE(refusal({a}).find("two sides are compared, not 1"), std::string::npos);
  EXPECT_NE(refusal({a, a, a}).find("not 3"), std::string::npos);
  EXPECT_NE(refusal({a, a, "--format", "jsn"}).find("did you mean 'json'?"), std::string::npos);
  EXPECT_NE(refusal({a, a, "--metric", "tme"}).find("did you mean 'time'?"), std::string::npos);
  EXPECT_NE(refusal({a, a, "--least", "0.05"}).find("is not a percentage"), std::string::npos);
  EXPECT_NE(refusal({a, a, "--significance", "0%"}).find("0.0001% to 50%"), std::string::npos);
  EXPECT_NE(refusal({a, a, "--fail-on", "slowr"}).find("did you mean 'slower'?"),
            std::string::npos);
  EXPECT_NE(refusal({a, a, "--fail-on", "undecided"}).find("slower:5%,undecided"),
            std::string::npos);
  EXPECT_EQ(compare({a, "latest"}).exit_code, 4);
}

}  // namespace
}  // namespace assay::cli
