#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>

#include "base/text.h"
#include "config/shipped_catalogue.h"
#include "key_reference.h"
#include "rendering.h"
#include "source_root.h"

namespace assay::report {
namespace {

// Reads the page from top to bottom and writes every result anew from its figures.
//   <!-- data: NAME -->       the block below holds figures; a NAME that begins with calibrate_
//                             gives the ceilings for all others
//   <!-- example: NAME… -->   the block below is a report of these figures; the page shows its
//                             result between <!-- result --> and <!-- end -->
//   <!-- refused: NAME… -->   the same for a report with mistakes; the result names them
//   <!-- keys -->             the tables of keys, up to <!-- end -->
class Page {
 public:
  // Makes pictures in `work`.
  Page(const std::string& text, std::filesystem::path work)
      : lines_(split(text, '\n')), work_(std::move(work)) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      written_ += lines_[i] + (i + 1 < lines_.size() ? "\n" : "");
      if (const auto names = comment(i, "data"); !names.empty()) {
        read_data(names.front(), block_after(i));
      } else if (const auto used = comment(i, "example"); !used.empty()) {
        read_example(i, used, false);
      } else if (const auto mistaken = comment(i, "refused"); !mistaken.empty()) {
        read_example(i, mistaken, true);
      } else if (lines_[i] == "<!-- result -->") {
        ++examples;
        replace(i, rendered(i + 1));
      } else if (lines_[i] == "<!-- keys -->") {
        keys = true;
        replace(i, testing_support::report_reference());
      }
    }
  }

  const std::string& written() const { return written_; }

  struct MadePicture {
    std::string name;            // in docs/reports/, without extension
    std::filesystem::path file;  // in `work`, without extension
  };
  std::vector<MadePicture> pictures;
  std::size_t examples = 0;
  bool keys = false;
  bool drawn = true;  // false without gnuplot

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

  void read_data(const std::string& name, const std::string& text) {
    auto run = store::import_text(text, name + (text.front() == '{' ? ".jsonl" : ".csv"));
    if (!run) {
      ADD_FAILURE() << run.error().text();
      return;
    }
    run->info.name = name;
    runs_[name] = std::move(*run);
  }

  void read_example(std::size_t i, const std::vector<std::string>& names, bool refused) {
    names_ = names;
    yaml_ = block_after(i);
    refused_ = refused;
  }

  // Writes `text` and skips the old lines up to <!-- end -->.
  void replace(std::size_t& i, const std::string& text) {
    written_ += "\n" + std::string(trim(text)) + "\n\n";
    while (lines_.at(i + 1) != "<!-- end -->") ++i;
  }

  std::string rendered(std::size_t line) {
    const std::filesystem::path folder = work_ / std::to_string(line);
    Inputs inputs;
    for (const std::string& name : names_) inputs.sources.emplace_back(&runs_.at(name));
    inputs.with_context = false;
    inputs.layouts = source_root / "configs/layouts";
    inputs.folder = folder;
    inputs.ceilings = [this](const store::Run&) {
      Ceilings ceilings;
      for (const auto& [name, run] : runs_) {
        if (name.starts_with("calibrate_")) ceilings.add(run);
      }
      return ceilings;
    };
    const auto spec = yaml::parse(yaml_, "report.yaml");
    if (!spec) return unexpected(line, spec.error().text());
    inputs.spec = *spec;
    const auto document = build(inputs);
    if (!document && refused_) return "```\n" + document.error().text() + "\n```";
    if (!document) return unexpected(line, document.error().text());
    if (refused_) return unexpected(line, "this is not refused");
    std::string text = *to_markdown(*document);
    if (text.find("gnuplot is not installed") != std::string::npos) drawn = false;
    return with_pictures_of_the_page(text, folder);
  }

  static std::string unexpected(std::size_t line, const std::string& what) {
    ADD_FAILURE() << "docs/reports.md:" << line << ": " << what;
    return what;
  }

  std::string with_pictures_of_the_page(const std::string& text,
                                        const std::filesystem::path& folder) {
    static const std::regex link("\\]\\(((plot|timeline|flame)-[0-9]+)\\.svg\\)");
    std::string result;
    auto at = text.cbegin();
    std::smatch found;
    while (std::regex_search(at, text.cend(), found, link)) {
      const std::string name = found[2].str() + "-" + std::to_string(++numbers_[found[2].str()]);
      pictures.push_back({name, folder / found[1].str()});
      result += found.prefix().str() + "](reports/" + name + ".svg)";
      at = found[0].second;
    }
    return result + std::string(at, text.cend());
  }

  std::vector<std::string> lines_;
  std::filesystem::path work_;
  std::map<std::string, store::Run> runs_;
  std::vector<std::string> names_;
  std::string yaml_, written_;
  bool refused_ = false;
  std::map<std::string, int> numbers_;
};

// The line that names gnuplot's version: pictures compare byte for byte only within one.
std::string drawn_by(const std::string& svg) {
  const std::size_t at = svg.find("Produced by ");
  return at == std::string::npos ? "" : svg.substr(at, svg.find('\n', at) - at);
}

void compare_pictures(const std::vector<Page::MadePicture>& pictures,
                      const std::filesystem::path& folder) {
  for (const Page::MadePicture& picture : pictures) {
    const auto stored = [&](const char* extension) {
      return read_file((folder / (picture.name + extension)).string());
    };
    const auto made = [&](const char* extension) {
      return *read_file(picture.file.string() + extension);
    };
    ASSERT_TRUE(stored(".csv") && stored(".svg")) << picture.name << ": run tools/docs";
    EXPECT_EQ(made(".csv"), *stored(".csv")) << picture.name << ": run tools/docs";
    if (drawn_by(made(".svg")) == drawn_by(*stored(".svg"))) {
      EXPECT_TRUE(made(".svg") == *stored(".svg")) << picture.name << ": run tools/docs";
    }
  }
}

void keep_pictures(const std::vector<Page::MadePicture>& pictures,
                   const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const Page::MadePicture& picture : pictures) {
    for (const char* extension : {".csv", ".svg"}) {
      std::filesystem::copy_file(picture.file.string() + extension,
                                 folder / (picture.name + extension));
    }
  }
}

// With ASSAY_WRITE_DOCS set (tools/docs) the test writes the page and its pictures instead.
TEST(Documentation, EveryExampleGivesWhatThePageShows) {
  const std::string file = (source_root / "docs/reports.md").string();
  const auto text = read_file(file);
  ASSERT_TRUE(text) << text.error().text();
  const std::filesystem::path work =
      std::filesystem::temp_directory_path() / ("assay_docs_" + std::to_string(::getpid()));
  const Page page(*text, work);
  EXPECT_GE(page.examples, 20u);
  EXPECT_TRUE(page.keys);
  const bool write = std::getenv("ASSAY_WRITE_DOCS") != nullptr;
  if (!page.drawn) {
    std::filesystem::remove_all(work);
    GTEST_SKIP() << "gnuplot is not installed";
  }
  if (write && !HasFailure()) {
    keep_pictures(page.pictures, source_root / "docs/reports");
    ASSERT_TRUE(write_file(file, page.written()));
  } else {
    const auto expected = split(*text, '\n'), made = split(page.written(), '\n');
    for (std::size_t i = 0; i < std::min(expected.size(), made.size()); ++i) {
      ASSERT_EQ(made[i], expected[i]) << "docs/reports.md:" << i + 1 << ": run tools/docs";
    }
    EXPECT_EQ(made.size(), expected.size()) << "run tools/docs";
    compare_pictures(page.pictures, source_root / "docs/reports");
  }
  std::filesystem::remove_all(work);
}

// `reference` is between <!-- keys --> and <!-- end -->.
void check_keys(const char* page, const std::string& reference) {
  const std::string file = (source_root / page).string();
  const auto text = read_file(file);
  ASSERT_TRUE(text) << text.error().text();
  const std::size_t begin = text->find("<!-- keys -->\n"), end = text->find("<!-- end -->", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string made =
      text->substr(0, begin) + "<!-- keys -->\n\n" + reference + "\n" + text->substr(end);
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file(file, made));
  } else {
    EXPECT_EQ(*text, made) << "run tools/docs";
  }
}

TEST(Documentation, NamesEveryKeyOfExperimentsAndSuites) {
  check_keys("docs/experiments.md", testing_support::experiment_reference());
  check_keys("docs/suites.md", testing_support::suite_reference());
}

// What the shipped plugins, the host and the presets have, and what planned workloads will.
Vocabulary everything_a_workload_has() {
  Vocabulary known;
  known.axes = {"model.d_model", "model.layers", "model.heads", "model.d_ff",    "attention",
                "norm",          "precision",    "compile",     "communication", "backend",
                "device",        "world_size",   "nodes",       "repeat",        "workload",
                "heads",         "size",         "addend",      "measure.warmup"};
  known.metrics = catalogue::common_metrics();
  for (const catalogue::PluginInfo& plugin : config::shipped_catalogue().plugins) {
    const std::string before = plugin.kind == "workload" ? "" : plugin.kind + ".";
    for (const ParameterInfo& info : plugin.parameters) known.axes.push_back(before + info.name);
    known.metrics.insert(known.metrics.end(), plugin.metrics.begin(), plugin.metrics.end());
    known.passes.insert(known.passes.end(), plugin.passes.begin(), plugin.passes.end());
  }
  const std::map<std::string, std::vector<std::string>> planned = {{"s", {"bound_time"}},
                                                                   {"byte/s", {"link_bandwidth"}},
                                                                   {"FLOP/s", {"peak_flops"}},
                                                                   {"token", {"bound_batch"}}};
  for (const auto& [unit, names] : planned) {
    for (const std::string& name : names) {
      known.metrics.push_back({name, unit, Direction::neither, ""});
    }
  }
  return known;
}

TEST(ShippedLayouts, BeginWithWhatTheyMake) {
  for (const auto& [name, path] : yaml::documents_below(source_root / "configs/layouts")) {
    const auto text = read_file(path.string());
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_TRUE(text->starts_with("# ")) << path << " does not begin with what it makes";
  }
}

TEST(ShippedLayouts, AreWellFormed) {
  const auto layouts = yaml::documents_below(source_root / "configs/layouts");
  EXPECT_GT(layouts.size(), 20u);
  for (const auto& [name, path] : layouts) {
    const auto spec = yaml::parse_file(path.string());
    ASSERT_TRUE(spec) << spec.error().text();
    for (const Diagnostic& diagnostic : check(*spec, everything_a_workload_has()))
      ADD_FAILURE() << diagnostic.text();
  }
}

// A name stands for one layout, whatever its folder.
TEST(ShippedLayouts, HaveNamesOfTheirOwn) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_root / "configs/layouts")) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(yaml::documents_below(source_root / "configs/layouts").size(), files);
}

}  // namespace
}  // namespace assay::report
