#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "rendering.h"

namespace assay::report {
namespace {

const std::filesystem::path root = ASSAY_SOURCE_DIR;

// The page as a reader of its comments sees it: figures by name, examples with their results.
class Page {
 public:
  struct Example {
    std::vector<std::string> data;
    std::string yaml, result;
    std::size_t line;
  };

  explicit Page(const std::string& text) : lines_(split(text, '\n')) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (const auto names = comment(i, "data"); !names.empty()) {
        data[names.front()] = testing_support::run_of(block_after(i), names.front());
      } else if (const auto used = comment(i, "example"); !used.empty()) {
        examples.push_back({used, block_after(i), result_after(i), i + 1});
      }
    }
  }

  std::map<std::string, store::Run> data;
  std::vector<Example> examples;

 private:
  std::vector<std::string> comment(std::size_t i, const std::string& kind) const {
    const std::string start = "<!-- " + kind + ": ";
    if (lines_[i].rfind(start, 0) != 0) return {};
    return split(lines_[i].substr(start.size(), lines_[i].size() - start.size() - 4), ' ');
  }

  std::string block_after(std::size_t i) const {
    while (lines_[i].rfind("```", 0) != 0) ++i;
    std::string text;
    while (lines_[++i] != "```") text += lines_[i] + "\n";
    return text;
  }

  std::string result_after(std::size_t i) const {
    while (lines_[i] != "<!-- result -->") ++i;
    std::string text;
    while (lines_[++i] != "<!-- end -->") text += lines_[i] + "\n";
    return std::string(trim(text));
  }

  std::vector<std::string> lines_;
};

TEST(Documentation, EveryExampleGivesWhatThePageShows) {
  const auto text = read_file((root / "docs/reports.md").string());
  ASSERT_TRUE(text) << text.error().text();
  const Page page(*text);
  ASSERT_GE(page.examples.size(), 10u);
  for (const Page::Example& example : page.examples) {
    std::vector<const store::Run*> runs;
    for (const std::string& name : example.data) runs.push_back(&page.data.at(name));
    EXPECT_EQ(trim(testing_support::markdown_of(runs, example.yaml)), example.result)
        << "docs/reports.md:" << example.line;
  }
}

Vocabulary everything_a_workload_has() {
  Vocabulary known;
  known.axes = {"model",
                "seq_len",
                "batch",
                "heads",
                "d_head",
                "d_model",
                "d_ff",
                "layers",
                "n_cols",
                "attention",
                "attention.tile_size",
                "norm",
                "precision",
                "compile",
                "communication",
                "communication.bucket_size",
                "backend",
                "device",
                "world_size",
                "nodes",
                "size",
                "repeat"};
  known.passes = {"inference",  "forward",    "backward",  "forward_backward",
                  "train_step", "all_reduce", "rank_total"};
  for (const auto& [name, unit] : std::map<std::string, std::string>{{"time", "s"},
                                                                     {"total_time", "s"},
                                                                     {"memory_before", "byte"},
                                                                     {"peak_memory", "byte"},
                                                                     {"parameters", "count"},
                                                                     {"parameter_bytes", "byte"},
                                                                     {"elements", "count"},
                                                                     {"calls", "count"},
                                                                     {"share", ""},
                                                                     {"overhead", ""},
                                                                     {"bus_bandwidth", "byte/s"}}) {
    known.metrics.push_back({name, unit, Direction::neither, ""});
  }
  return known;
}

TEST(ShippedLayouts, AreWellFormedAndDescribed) {
  const auto text = read_file((root / "docs/reports.md").string());
  ASSERT_TRUE(text) << text.error().text();
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "configs/layouts")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const auto spec = yaml::parse_file(entry.path().string());
    ASSERT_TRUE(spec) << spec.error().text();
    for (const Diagnostic& diagnostic : check(*spec, everything_a_workload_has()))
      ADD_FAILURE() << diagnostic.text();
    EXPECT_NE(text->find("| `" + entry.path().stem().string() + "` |"), std::string::npos)
        << entry.path().filename() << " is not in docs/reports.md";
  }
  EXPECT_GT(count, 20u);
}

}  // namespace
}  // namespace assay::report
