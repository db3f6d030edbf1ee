// Hostile names in experiments, result files and databases: they never leave the results folder,
// reach a shell or control a tool.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "run/process/process.h"
#include "support/program.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Everything below the folder, as relative paths.
std::set<std::string> everything_in(const fs::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    found.insert(fs::relative(entry.path(), folder).string());
  }
  return found;
}

const std::vector<std::string> hostile = {
    "../../escaped",
    "/tmp/assay-escaped",
    "a/../../escaped",
    "..",
    ".",
    "$(touch escaped)",
    "`touch escaped`",
    "; touch escaped;",
    "' OR '1'='1",
    "'); DROP TABLE runs; --",
    "\"quoted\"",
    "%s%n%x",
    "line\\nbreak",
    "\\u202Eesrever",
    "名前",
    "-rf",
    std::string(5000, 'x'),
};

// A double-quoted YAML scalar; the names above are escaped for it, except for quotes.
std::string scalar(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\\\"") : std::string(1, c);
  return text + "\"";
}

class HostileNames : public ::testing::Test {
 protected:
  HostileNames() { fs::create_directories(inside()); }

  // Where assay runs; a name could escape into its parent.
  fs::path inside() const { return folder_.path() / "in"; }

  std::string write(const std::string& content, const std::string& name = "e.yaml") const {
    return folder_.write("in/" + name, content);
  }

  // Only the results folder, the test's files and the cache may be there.
  void expect_nothing_escaped() const {
    for (const auto& path : everything_in(folder_.path())) {
      const bool expected = path == "in" || path.starts_with("in/cache") ||
                            path.starts_with("in/results") || path == "in/e.yaml" ||
                            path == "in/run.csv" || path == "in/run.jsonl";
      EXPECT_TRUE(expected) << path;
    }
    EXPECT_FALSE(fs::exists("/tmp/assay-escaped"));
    EXPECT_FALSE(fs::exists("/tmp/assay-escaped.yaml"));
  }

  Folder folder_;
};

TEST_F(HostileNames, OfExperiments) {
  for (const std::string& name : hostile) {
    if (name == "-rf") continue;  // a valid name
    write("experiment: " + scalar(name) +
          "\nworkload: attention\nmatrix: {seq_len: [8]}\nfixed: {batch: 1, heads: 1, d_head: 8, "
          "device: cpu}\n");
    const Ended ended = assay(inside(), {"run", "e.yaml"});
    const bool too_long_only = name.size() > 1000;  // its run has a shorter one
    EXPECT_EQ(ended.exit_code, too_long_only ? 0 : 2) << name.substr(0, 80) << "\n"
                                                      << ended.errors.substr(0, 2000);
    if (!too_long_only) {
      EXPECT_THAT(ended.errors, HasSubstr("cannot name an experiment"));
    }
    EXPECT_LT(ended.errors.size(), 20'000u);
  }
  expect_nothing_escaped();
}

TEST_F(HostileNames, OfModelsVariantsAndLayouts) {
  for (const std::string& name : hostile) {
    for (const std::string& experiment :
         {"fixed: {model: " + scalar(name) + ", device: cpu}\n",
          "matrix: {attention: [" + scalar(name) + "]}\n", "matrix: {" + scalar(name) + ": [1]}\n",
          "report:\n  - layout: " + scalar(name) + "\n"}) {
      write("experiment: e\nworkload: model_step\n" + experiment);
      const Ended ended = assay(inside(), {"run", "e.yaml"});
      EXPECT_EQ(ended.exit_code, 2) << experiment.substr(0, 80) << "\n"
                                    << ended.errors.substr(0, 2000);
    }
  }
  expect_nothing_escaped();
}

// Titles, axis values and labels are free text: they reach gnuplot, Markdown and CSV.
TEST_F(HostileNames, InReportsAndPictures) {
  std::string csv = "label,pass,time.samples [ms]\n";
  for (const std::string& name : hostile) {
    std::string cell = "\"";
    for (const char c : name.substr(0, 60))
      cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    csv += cell + "\",forward,[1 2 3]\n";
  }
  write(csv, "run.csv");
  write(
      "report:\n  - plot:\n      x: label\n      y: {metric: time, unit: ms}\n      title: "
      "\"`touch escaped` $(touch escaped) ' \\\" %s @x\"\n  - table:\n      rows: [label]\n"
      "      columns:\n        time [ms]: {metric: time, unit: ms}\n");
  ASSERT_EQ(assay(inside(), {"import", "run.csv"}).exit_code, 0);
  const Ended report = assay(inside(), {"report", "latest", "--layout", "./e.yaml"});
  ASSERT_EQ(report.exit_code, 0) << report.errors;
  const std::string page = folder_.read("in/results/run-1/report-e.md");
  EXPECT_THAT(page, HasSubstr("(report-e-plot-1.svg)")) << page;
  EXPECT_THAT(page, ::testing::Not(HasSubstr("No plot")));
  EXPECT_THAT(folder_.read("in/results/run-1/report-e-plot-1.svg"), HasSubstr("%s%n%x"));
  expect_nothing_escaped();
}

TEST_F(HostileNames, OfImportedRuns) {
  for (const std::string& name :
       {std::string("../../escaped"), std::string("/tmp/assay-escaped"), std::string(".."),
        std::string("a\\nb"), std::string("assay.db-wal"), std::string(300, 'x')}) {
    write("{\"run\":\"" + name +
              "\",\"experiment\":\"e\",\"case\":{\"n\":1},\"pass\":\"p\","
              "\"metric\":\"time\",\"unit\":\"s\",\"samples\":[1]}\n",
          "run.jsonl");
    EXPECT_EQ(assay(inside(), {"import", "run.jsonl"}).exit_code, 2) << name;
  }
  // Odd names are names too, also in the command that repeats a case.
  write(
      "{\"run\":\"it's $(touch escaped)\",\"experiment\":\"e\",\"case\":{\"n\":1},\"pass\":\"p\","
      "\"metric\":\"time\",\"unit\":\"s\",\"samples\":[1],\"provenance\":{\"run\":{"
      "\"experiment_text\":\"experiment: e\"}}}\n",
      "run.jsonl");
  ASSERT_EQ(assay(inside(), {"import", "run.jsonl"}).exit_code, 0);
  ASSERT_EQ(assay(inside(), {"report", "latest"}).exit_code, 0);
  const Ended page = assay(inside(), {"show", "it's $(touch escaped)/1"});
  EXPECT_THAT(page.output, HasSubstr("--experiment-of 'it'\\''s $(touch escaped)' --case"));
  expect_nothing_escaped();
}

// Within half a gigabyte of address space.
Ended limited(const fs::path& folder, std::vector<std::string> arguments) {
  run::Process::Command command;
  command.arguments = {"env",
                       "-C",
                       folder.string(),
                       "prlimit",
                       "--as=536870912",
                       "--cpu=20",
                       ASSAY_BUILD_DIR "/bin/assay"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment["ASSAY_CACHE"] = (folder / "cache").string();
  const auto done = run::capture(command);
  if (!done) return {-1, {}, done.error().text()};
  return {done->end.signalled ? 128 + done->end.number : done->end.number, done->output,
          done->errors};
}

TEST_F(HostileNames, AreNotTheOnlySizeThatIsRefused) {
  // Listing the plugins needs a worker, which needs more memory than this.
  write("experiment: e\nworkload: attention\n");
  assay(inside(), {"plan", "e.yaml"});

  std::string hundred = "[1";
  for (int i = 2; i <= 100; ++i) hundred += ", " + std::to_string(i);
  hundred += "]\n";
  std::string axes;
  for (const char* axis : {"repeat", "batch", "heads", "seq_len", "d_head", "measure.warmup"}) {
    axes += "  " + std::string(axis) + ": " + hundred;
  }
  write("experiment: e\nworkload: attention\nmatrix:\n" + axes);
  const Ended matrix = limited(inside(), {"run", "e.yaml"});
  EXPECT_EQ(matrix.exit_code, 2) << matrix.errors.substr(0, 2000);
  EXPECT_THAT(matrix.errors, HasSubstr("1000000000000 cases"));

  for (const char* name : {"run.jsonl", "run.csv", "e.yaml"}) {
    write("{\"case\":{\"n\":\"", name);
    fs::resize_file(inside() / name, std::uintmax_t{1} << 30);  // one line, without a disk's space
    const Ended line = name == std::string("e.yaml") ? limited(inside(), {"run", name})
                                                     : limited(inside(), {"import", name});
    EXPECT_EQ(line.exit_code, 2) << name << line.errors.substr(0, 2000);
    EXPECT_LT(line.errors.size(), 10'000u);
  }
  // A line that is too long in a short file.
  std::ofstream(inside() / "run.jsonl")
      << "{\"case\":{\"n\":\"" << std::string(200 << 20, 'x') << "\"}}";
  const Ended line = limited(inside(), {"import", "run.jsonl"});
  EXPECT_EQ(line.exit_code, 2) << line.errors.substr(0, 2000);
  EXPECT_THAT(line.errors, HasSubstr("bytes, more than"));
}

}  // namespace
}  // namespace assay::test
