// External variants: the page's example from an empty directory, and programs that compute
// something else or exchange nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/page.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The results of the latest run by attention, pass and metric.
std::map<std::string, nlohmann::json> results(const std::filesystem::path& folder) {
  const Ended ended = assay(folder, {"export", "latest"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  std::map<std::string, nlohmann::json> results;
  std::istringstream stream(ended.output);
  for (std::string line; std::getline(stream, line);) {
    auto json = nlohmann::json::parse(line);
    const std::string name =
        fmt::format("{} {} {}", json["case"]["attention"].get<std::string>(),
                    json["pass"].get<std::string>(), json["metric"].get<std::string>());
    results[name] = std::move(json);
  }
  return results;
}

class ExternalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("ASSAY_PYTHON");
    const std::string python = named == nullptr || *named == '\0' ? "python3" : named;
    const std::string finds_torch =
        python + " -c \"import importlib.util as u; exit(u.find_spec('torch') is None)\"";
    if (std::system((finds_torch + " 2> /dev/null").c_str()) != 0) {
      GTEST_SKIP() << python << " has no torch; ASSAY_PYTHON names another Python";
    }
    const Page page = read_page("docs/external.md");
    for (const auto& [name, text] : page.files) folder_.write(name, text);
    program_ = page.files.at("chunked.py");
    command_ = page.commands.at(0);
  }

  // The page's example with its program changed in one place.
  Ended run(const std::string& from = {}, const std::string& to = {}) {
    std::string program = program_;
    if (!from.empty()) {
      const auto at = program.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      program.replace(at, from.size(), to);
    }
    folder_.write("chunked.py", program);
    std::vector<std::string> words = command_;
    words.insert(words.end(), {"--device", "cpu"});
    return assay(folder_.path(), words);
  }

  Folder folder_;
  std::vector<std::string> command_;
  std::string program_;
};

TEST_F(ExternalTest, TheExampleOfThePageIsMeasuredAndVerified) {
  const Ended ended = run();
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  auto found = results(folder_.path());
  for (const char* pass : {"forward", "backward"}) {
    const auto& time = found[fmt::format("chunked {} time", pass)];
    EXPECT_EQ(time["outcome"], "ok") << time;
    EXPECT_EQ(time["provenance"]["clock"], "wall");
    EXPECT_EQ(time["samples"].size(), 5u);
    const double error = found[fmt::format("chunked {} error", pass)]["samples"][0];
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 1e-5);
    // The counts of the built-in variant.
    for (const char* metric : {"flops", "bytes"}) {
      EXPECT_EQ(found[fmt::format("chunked {} {}", pass, metric)]["samples"],
                found[fmt::format("naive {} {}", pass, metric)]["samples"]);
    }
  }
  const std::string report = folder_.read("results/try-1/report.md");
  EXPECT_THAT(report, Not(HasSubstr("not verified")));
  EXPECT_THAT(report, Not(HasSubstr("self-timed")));
  EXPECT_THAT(report, HasSubstr("integrity fast"));
}

TEST_F(ExternalTest, ItsTimedCallsHaveNewInputsAndAreLookedAt) {
  command_.insert(command_.end(), {"--set", "measure.integrity=full"});
  ASSERT_EQ(run().exit_code, 0);
  nlohmann::json context;  // in one series of each case
  for (auto& [name, series] : results(folder_.path())) {
    if (!name.starts_with("chunked") || !series["provenance"].contains("case")) continue;
    context = series["provenance"]["case"]["context"];
  }
  for (const char* pass : {"forward", "backward"}) {
    auto timed = context["verification"][pass]["timed"];
    ASSERT_TRUE(timed.is_object()) << context;
    EXPECT_EQ(timed["integrity"], "full") << context;
    // On a busy machine looks beyond the first may be too long for calls as short as these.
    EXPECT_GE(timed["looks"].get<int>(), 1);
    EXPECT_EQ(timed["renewed_inputs"], pass == std::string("forward") ? 3 : 4);
    EXPECT_LE(timed["error"].get<double>(), timed["tolerance"].get<double>());
  }
}

TEST_F(ExternalTest, OneThatRemembersIsWrong) {
  const Ended ended = run("serve(Chunked)",
                          "honest, known = Chunked.forward, {}\n"
                          "def forward(self, q, k, v):\n"
                          "    if q.data_ptr() not in known:\n"
                          "        known[q.data_ptr()] = honest(self, q, k, v)\n"
                          "    return known[q.data_ptr()].clone()\n"
                          "Chunked.forward = forward\n"
                          "serve(Chunked)");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto time = results(folder_.path())["chunked forward time"];
  EXPECT_EQ(time["outcome"], "wrong");
  EXPECT_THAT(time["reason"], HasSubstr("in a timed call: out differs from the reference by"));
}

TEST_F(ExternalTest, WithoutLooksItIsSelfTimedAndWinsNoSentence) {
  const Ended ended = run("serve(Chunked)",
                          "from assay_peer import Program\n"
                          "Chunked.look = Program.look\n"
                          "serve(Chunked)");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(results(folder_.path())["chunked forward time"]["outcome"], "ok");
  const std::string report = folder_.read("results/try-1/report.md");
  EXPECT_THAT(report, HasSubstr("**† self-timed** (2 of 4 results"));
  EXPECT_THAT(report, Not(HasSubstr("chunked is ")));
}

TEST_F(ExternalTest, AWrongResultIsNoTime) {
  // Without looks: the worker finds it in the tensors that are handed over.
  const Ended ended = run("serve(Chunked)",
                          "from assay_peer import Program\n"
                          "right = Chunked.forward\n"
                          "Chunked.forward = lambda self, q, k, v: 1.1 * right(self, q, k, v)\n"
                          "Chunked.look = Program.look\n"
                          "serve(Chunked)");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  auto found = results(folder_.path());
  const auto& time = found["chunked forward time"];
  EXPECT_EQ(time["outcome"], "wrong");
  EXPECT_TRUE(time["samples"].empty());
  EXPECT_THAT(time["reason"], HasSubstr("out differs from the reference by"));
  EXPECT_GT(found["chunked forward error"]["samples"][0].get<double>(), 1e-3);
  EXPECT_FALSE(found.contains("chunked forward bytes"));
  const std::string report = folder_.read("results/try-1/report.md");
  EXPECT_THAT(report, HasSubstr("WRONG"));
}

TEST_F(ExternalTest, WhatItPrintsIsNotWhatTheHostReads) {
  const Ended ended =
      run("class Chunked", "print('ahead of everything', flush=True)\n\n\nclass Chunked");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(results(folder_.path())["chunked forward time"]["outcome"], "ok");
}

TEST_F(ExternalTest, WithoutAnExchangeItIsMarkedUnverified) {
  const Ended ended =
      run("serve(Chunked)", "Chunked.exchange = lambda self, pass_name: None\nserve(Chunked)");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(results(folder_.path())["chunked forward time"]["outcome"], "ok");
  EXPECT_THAT(folder_.read("results/try-1/report.md"),
              HasSubstr("chunked: the program exchanges no tensors"));
}

TEST_F(ExternalTest, AFileThatIsNoExchangeIsAnError) {
  const Ended ended = run("serve(Chunked)",
                          "import assay_peer.serving as s\n"
                          "def write(folder, name, tensors):\n"
                          "    open(folder + '/x', 'wb').write(b'\\xff' * 20)\n"
                          "    return 'x'\n"
                          "s.write_exchange = write\n"
                          "serve(Chunked)");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto time = results(folder_.path())["chunked forward time"];
  EXPECT_EQ(time["outcome"], "error");
  EXPECT_THAT(time["reason"], HasSubstr("x: the header's length"));
}

TEST_F(ExternalTest, AModelOfPyTorchIsVerifiedInEveryPass) {
  const Ended ended = assay(
      folder_.path(),
      {"run",
       folder_.write("model.yaml",
                     "experiment: model\nworkload: model_step\n"
                     "matrix: {architecture: [swiglu, gelu], norm: [rmsnorm, layernorm], "
                     "precision: [fp32, bf16]}\n"
                     "exclude: [{architecture: gelu, norm: rmsnorm}, {architecture: swiglu, norm: "
                     "layernorm}]\n"
                     "fixed: {compile: torch_eager, model: toy, batch: 2, seq_len: 16, "
                     "attention: naive}\n"
                     "measure: {passes: [inference, forward, backward, forward_backward, "
                     "train_step], warmup: 1, samples: 1}\n"),
       "--device", "cpu", "--allow-external"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  const Ended exported = assay(folder_.path(), {"export", "latest"});
  std::istringstream stream(exported.output);
  int verified = 0;
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["outcome"], "ok") << line;
    if (json["metric"] != "error") continue;
    ++verified;
    EXPECT_GT(json["samples"][0].get<double>(), 0) << line;
  }
  EXPECT_EQ(verified, 4 * 5);
}

}  // namespace
}  // namespace assay::test
