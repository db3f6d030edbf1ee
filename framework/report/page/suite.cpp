#include "report/page/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "report/document/anchors.h"
#include "report/document/markdown.h"
#include "report/document/markdown_table.h"
#include "report/page/context.h"
#include "store/records/marks.h"

namespace assay::report {
namespace {

constexpr const char* contents = "Contents";
constexpr int deepest_in_contents = 3;
constexpr int deepest_heading = 6;

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return std::string(trim(text));
}

// Below the chapter's own heading, and in its own folder.
void add_content(SuiteChapter& chapter, std::vector<Section>& sections) {
  for (Section& section : chapter.content.sections) {
    if (auto* heading = std::get_if<Heading>(&section)) {
      heading->level = std::min(heading->level + 1, deepest_heading);
    }
    if (auto* picture = std::get_if<Picture>(&section)) {
      picture->path = chapter.name + "/" + picture->path;
    }
    if (auto* links = std::get_if<Links>(&section)) {
      for (std::string& path : links->paths) path = chapter.name + "/" + path;
    }
    sections.push_back(std::move(section));
  }
}

void add_chapter(std::size_t number, SuiteChapter& chapter, std::vector<Section>& sections) {
  sections.emplace_back(Heading{2, fmt::format("{}. {}", number, on_one_line(chapter.question))});
  if (!chapter.text.empty()) sections.emplace_back(Paragraph{chapter.text});
  if (chapter.measured < chapter.cases) {
    sections.emplace_back(Paragraph{
        fmt::format("{} of its {} cases have a result.", chapter.measured, chapter.cases)});
  }
  add_content(chapter, sections);
}

// "3 of its cases are also those of norm_layer, warmup."
std::string shared_with(const SuiteChapter& chapter, const std::vector<SuiteChapter>& all) {
  std::set<std::string> own;
  for (const store::Run& run : chapter.runs) {
    for (const store::CaseResult& result : run.cases) own.insert(result.key);
  }
  std::set<std::string> shared;
  std::vector<std::string> others;
  for (const SuiteChapter& other : all) {
    if (&other == &chapter) continue;
    bool shares = false;
    for (const store::Run& run : other.runs) {
      for (const store::CaseResult& result : run.cases) {
        if (!own.contains(result.key)) continue;
        shared.insert(result.key);
        shares = true;
      }
    }
    if (shares) others.push_back(other.name);
  }
  if (shared.empty()) return {};
  return fmt::format("**shared**: {} of its cases, with {}", shared.size(), join(others, ", "));
}

void add_measuring(const std::vector<SuiteChapter>& chapters, std::vector<Section>& sections) {
  sections.emplace_back(Heading{3, "How each chapter was measured"});
  for (const SuiteChapter& chapter : chapters) {
    if (chapter.runs.empty()) continue;
    sections.emplace_back(Heading{4, chapter.name});
    for (const store::Run& run : chapter.runs) {
      List facts = measuring_facts_of(run);
      if (chapter.runs.size() > 1)
        facts.items.insert(facts.items.begin(), "**run**: " + run.info.name);
      if (const std::string shared = shared_with(chapter, chapters); !shared.empty()) {
        facts.items.push_back(shared);
      }
      sections.emplace_back(std::move(facts));
    }
    sections.emplace_back(experiment_details("Experiment", chapter.runs.front().info.first));
  }
}

struct Marked {
  std::set<std::string> cases;  // keys
  std::vector<std::string> chapters;
  std::string reason;  // of the first
};

void note_marks(const SuiteChapter& chapter, std::map<std::string, Marked>& by_mark) {
  for (const store::Run& run : chapter.runs) {
    for (const store::CaseResult& result : run.cases) {
      for (const store::Series& series : result.series) {
        for (const store::Mark& mark : store::marks_of(result, series)) {
          Marked& marked = by_mark[mark.mark];
          marked.cases.insert(run.info.name + "/" + result.key);
          if (marked.reason.empty()) marked.reason = mark.reason;
          if (!std::ranges::count(marked.chapters, chapter.name)) {
            marked.chapters.push_back(chapter.name);
          }
        }
      }
    }
  }
}

void add_marks(const std::vector<SuiteChapter>& chapters, std::vector<Section>& sections) {
  std::map<std::string, Marked> by_mark;
  for (const SuiteChapter& chapter : chapters) note_marks(chapter, by_mark);
  sections.emplace_back(Heading{3, "Marks"});
  if (by_mark.empty()) {
    sections.emplace_back(Paragraph{"No case is marked."});
    return;
  }
  TableColumn mark{"mark", {}}, cases{"cases", {}}, in{"chapters", {}}, reason{"for example", {}};
  cases.numeric = true;
  for (const auto& [name, marked] : by_mark) {
    mark.cells.push_back(name);
    cases.cells.push_back(std::to_string(marked.cases.size()));
    in.cells.push_back(join(marked.chapters, ", "));
    reason.cells.push_back(marked.reason);
  }
  sections.emplace_back(Paragraph{"A mark is a reason to trust a number less."});
  sections.emplace_back(
      TableSection{{std::move(mark), std::move(cases), std::move(in), std::move(reason)}});
}

void add_left(const std::vector<SuiteChapter>& chapters, std::vector<Section>& sections) {
  List left;
  for (const SuiteChapter& chapter : chapters) {
    if (chapter.name.empty() || !chapter.runs.empty()) continue;
    left.items.push_back(
        fmt::format("**{}**: {} ({})", chapter.name, chapter.question, escape_cell(chapter.left)));
  }
  if (left.items.empty()) return;
  sections.emplace_back(Heading{3, "Chapters left out"});
  sections.emplace_back(std::move(left));
}

void add_appendix(const SuiteDocument& suite, std::vector<Section>& sections) {
  sections.emplace_back(Heading{2, "Appendix: environment and marks"});
  sections.emplace_back(Heading{3, "Environment"});
  for (const store::Run* run : suite.runs) sections.emplace_back(surroundings_of(*run));
  for (const store::Run* run : suite.runs) {
    if (run->info.first.experiment_text.empty()) continue;
    sections.emplace_back(experiment_details("Suite", run->info.first));
    break;
  }
  add_measuring(suite.chapters, sections);
  add_marks(suite.chapters, sections);
  add_left(suite.chapters, sections);
}

}  // namespace

Result<Document> suite_document(SuiteDocument suite) {
  Document document;
  document.title = suite.title;
  if (!suite.text.empty()) document.sections.emplace_back(Paragraph{suite.text});
  document.sections.emplace_back(Heading{2, contents});
  const std::size_t place = document.sections.size();
  document.sections.emplace_back(Paragraph{});
  std::size_t number = 0;
  for (SuiteChapter& chapter : suite.chapters) {
    if (chapter.name.empty()) {
      document.sections.emplace_back(Paragraph{chapter.text});
    } else if (!chapter.runs.empty()) {
      add_chapter(++number, chapter, document.sections);
    }
    std::ranges::move(chapter.content.problems, std::back_inserter(document.problems));
  }
  if (number == 0) document.sections.emplace_back(Paragraph{"No chapter has results."});
  add_appendix(suite, document.sections);
  const auto markdown = to_markdown(document);
  if (!markdown) return tl::unexpected(markdown.error());
  std::get<Paragraph>(document.sections[place]).text =
      contents_of(anchors_of(*markdown), deepest_in_contents, contents);
  return document;
}

}  // namespace assay::report
