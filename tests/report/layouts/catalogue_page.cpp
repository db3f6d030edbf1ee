#include "catalogue_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "store/exchange/gzip.h"
#include "store/exchange/import.h"
#include "yaml/document.h"

namespace assay::report::testing_support {
namespace {

namespace fs = std::filesystem;
using yaml::Node;

std::string text_at(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found == nullptr ? "" : found->text;
}

std::vector<std::string> texts(const Node& node) {
  std::vector<std::string> all;
  for (const Node& item : node.one_or_more()) all.push_back(item.text);
  return all;
}

std::vector<std::string> texts_at(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found == nullptr ? std::vector<std::string>() : texts(*found);
}

Need read_need(const Node& node) {
  Need need;
  for (const auto& [key, chosen] : node.entries) {
    if (key.text == "machines") {
      need.machines = std::stoul(chosen.text);
      continue;
    }
    NeededAxis axis{key.text, {}};
    for (const Node& item : chosen.one_or_more()) axis.values.push_back(texts(item));
    need.axes.push_back(std::move(axis));
  }
  return need;
}

Result<CatalogueRow> read_row(const Node& node, const std::vector<std::string>& tests) {
  static const std::vector<std::string> known = {"id",    "what",        "layouts", "golden",
                                                 "tests", "experiments", "note",    "needs"};
  for (const auto& [key, value] : node.entries) {
    if (!std::ranges::count(known, key.text)) {
      return fail_at(key.where, "a row has no '" + key.text + "'", "known: " + join(known, ", "));
    }
  }
  CatalogueRow row{text_at(node, "id"),       text_at(node, "what"),
                   texts_at(node, "layouts"), texts_at(node, "golden"),
                   texts_at(node, "tests"),   texts_at(node, "experiments"),
                   text_at(node, "note"),     {}};
  row.tests.insert(row.tests.end(), tests.begin(), tests.end());
  if (const Node* needs = node.find("needs")) {
    for (const Node& need : needs->items) row.needs.push_back(read_need(need));
  }
  return row;
}

// The chapters of experiments/writeup.yaml by the experiment each names; none without the file. A
// chapter without a name has its experiment's.
std::map<std::string, std::vector<std::string>> chapters_by_experiment(const fs::path& root) {
  std::map<std::string, std::vector<std::string>> chapters;
  const auto suite = yaml::parse_file((root / "experiments/writeup.yaml").string());
  const Node* list = suite ? suite->find("chapters") : nullptr;
  if (list == nullptr) return chapters;
  for (const Node& chapter : list->items) {
    const std::string experiment = fs::path(text_at(chapter, "experiment")).stem().string();
    const std::string name = text_at(chapter, "chapter");
    if (!experiment.empty()) chapters[experiment].push_back(name.empty() ? experiment : name);
  }
  return chapters;
}

class PageWriter {
 public:
  PageWriter(const fs::path& root, const std::vector<KeptRun>& kept)
      : root_(root),
        kept_(kept),
        layouts_(yaml::documents_below(root / "configs/layouts")),
        chapters_(chapters_by_experiment(root)) {}

  std::string section(const CatalogueSection& section) const {
    std::string text = "\n## " + section.title + "\n\n";
    if (!section.text.empty()) text += section.text + "\n\n";
    text += "| | what | layout | experiment | chapter | measured | test |\n";
    text += "|---|---|---|---|---|---|---|\n";
    for (const CatalogueRow& one : section.rows) text += row(one);
    return text;
  }

 private:
  std::string row(const CatalogueRow& row) const {
    const Coverage coverage = coverage_of(row, kept_);
    std::vector<std::string> experiments = row.experiments;
    for (const KeptRun* run : coverage.runs) {
      const std::string& name = run->run->info.experiment;
      if (!std::ranges::count(experiments, name)) experiments.push_back(name);
    }
    return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.id, row.what, layouts(row),
                       links_to_experiments(experiments), chapters(experiments),
                       measured(row, coverage), tests(row));
  }

  std::string link(const std::string& text, const fs::path& file) const {
    return fmt::format("[{}](../{})", text, file.lexically_relative(root_).generic_string());
  }

  std::string layouts(const CatalogueRow& row) const {
    std::vector<std::string> links;
    for (const std::string& name : row.layouts) {
      const auto file = layouts_.find(name);
      links.push_back(file == layouts_.end() ? "no layout " + name : link(name, file->second));
    }
    return join(links, ", ");
  }

  std::string links_to_experiments(const std::vector<std::string>& names) const {
    std::vector<std::string> links;
    for (const std::string& name : names) {
      const fs::path file = root_ / "experiments" / (name + ".yaml");
      links.push_back(fs::exists(file) ? link(name, file) : name);
    }
    return join(links, ", ");
  }

  std::string chapters(const std::vector<std::string>& experiments) const {
    std::vector<std::string> names;
    for (const std::string& name : experiments) {
      const auto of_experiment = chapters_.find(name);
      if (of_experiment == chapters_.end()) continue;
      names.insert(names.end(), of_experiment->second.begin(), of_experiment->second.end());
    }
    return join(names, ", ");
  }

  std::string measured(const CatalogueRow& row, const Coverage& coverage) const {
    if (row.needs.empty()) return row.note;
    std::vector<std::string> reports;
    for (const KeptRun* run : coverage.runs) {
      const std::string name = run->machine + "/" + run->folder;
      reports.push_back(link(name, root_ / "reports" / name / "report.md"));
    }
    std::string text = coverage.missing.empty() ? join(reports, ", ")
                       : coverage.found == 0    ? "not yet"
                                                : "in part: " + join(reports, ", ");
    if (coverage.out_of_memory > 0) {
      text += fmt::format("; {} of {} out of memory", coverage.out_of_memory, coverage.needed);
    }
    if (!coverage.missing.empty() && coverage.found > 0) {
      text += "; missing: " + join(coverage.missing, ", ");
    }
    return row.note.empty() ? text : text + ". " + row.note;
  }

  std::string tests(const CatalogueRow& row) const {
    std::vector<std::string> links;
    for (const std::string& folder : row.golden) {
      links.push_back(link(folder, root_ / "tests/golden" / folder));
      const fs::path own = root_ / "tests/golden" / folder / "layout.yaml";
      if (fs::exists(own)) links.back() += " (" + link("its own layout", own) + ")";
    }
    for (const std::string& file : row.tests) {
      links.push_back(link(fs::path(file).stem().string(), root_ / "tests" / file));
    }
    return join(links, ", ");
  }

  const fs::path& root_;
  const std::vector<KeptRun>& kept_;
  std::map<std::string, fs::path> layouts_;
  std::map<std::string, std::vector<std::string>> chapters_;
};

constexpr std::string_view opening =
    R"(<!-- Made of docs/catalogue.yaml and reports/ by tools/docs. -->
# Catalogue

Find the table or picture you want, take the layout that makes it, and render your run with it:

```sh
assay report latest --layout model_summary
```

The rows are the tables, figures and answers of a course on training LLMs. A golden folder, such as
A2, holds figures and the table that a test renders from them. *Measured* names the kept runs that
hold a result for every value a row asks for, or what is missing ([catalogue.yaml](catalogue.yaml)
has the values). A case that ran out of memory is a result; a smaller size than asked for is none.
)";

}  // namespace

Result<std::vector<CatalogueSection>> read_catalogue(const fs::path& file) {
  const auto document = yaml::parse_file(file.string());
  if (!document) return tl::unexpected(document.error());
  const Node* list = document->find("sections");
  if (list == nullptr) return fail_at(document->where, "there are no sections");
  std::vector<CatalogueSection> sections;
  for (const Node& node : list->items) {
    CatalogueSection section{text_at(node, "title"), text_at(node, "text"), {}};
    const Node* rows = node.find("rows");
    if (rows == nullptr) return fail_at(node.where, "the section has no rows");
    for (const Node& one : rows->items) {
      auto row = read_row(one, texts_at(node, "tests"));
      if (!row) return tl::unexpected(row.error());
      section.rows.push_back(std::move(*row));
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

Result<std::vector<KeptRun>> kept_runs(const fs::path& reports) {
  std::map<fs::path, KeptRun> sorted;
  for (const auto& entry : fs::recursive_directory_iterator(reports)) {
    if (store::plain_name(entry.path()).filename() != "results.jsonl") continue;
    auto run = store::import_file(entry.path());
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = entry.path().parent_path();
    auto shared = std::make_shared<const store::Run>(std::move(*run));
    sorted[folder] = {folder.parent_path().filename(), folder.filename(), shared,
                      std::make_shared<const Records>(std::vector<Source>{Source(shared.get())})};
  }
  std::vector<KeptRun> all;
  for (auto& [folder, kept] : sorted) all.push_back(std::move(kept));
  return all;
}

std::string catalogue_page(const fs::path& root, const std::vector<CatalogueSection>& sections,
                           const std::vector<KeptRun>& kept) {
  const PageWriter writer(root, kept);
  std::string page(opening);
  for (const CatalogueSection& section : sections) page += writer.section(section);
  return page;
}

}  // namespace assay::report::testing_support
