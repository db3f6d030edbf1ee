#include "cli/show/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/ceilings.h"
#include "cli/metrics.h"
#include "cli/planned_suite.h"
#include "report/document/markdown_table.h"
#include "report/page/suite.h"
#include "store/records/suite.h"

namespace assay::cli {

namespace {

// The chapters of all runs; the first run that has one gives its place and texts.
store::SuiteRecord chapters_of(const std::vector<store::Run>& runs) {
  store::SuiteRecord all = store::suite_of(runs.front().info).value_or(store::SuiteRecord());
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto more = store::suite_of(runs[i].info);
    if (!more) continue;
    for (const store::ChapterRecord& chapter : more->chapters) {
      if (!chapter.name.empty() && all.find(chapter.name) == nullptr) {
        all.chapters.push_back(chapter);
      }
    }
  }
  return all;
}

bool is_asked(const store::ChapterRecord& chapter, const std::vector<std::string>& only) {
  return only.empty() || std::ranges::count(only, chapter.name) > 0;
}

std::vector<std::string> names_of(const store::SuiteRecord& suite) {
  std::vector<std::string> names;
  for (const store::ChapterRecord& chapter : suite.chapters) {
    if (!chapter.name.empty()) names.push_back(chapter.name);
  }
  return names;
}

class SuiteBuilder {
 public:
  SuiteBuilder(const Context& context, store::Database* database,
               const std::filesystem::path& results, const ReportRequest& request,
               const std::vector<store::Run>& runs, const report::Inputs& place)
      : context_(context),
        database_(database),
        results_(results),
        request_(request),
        runs_(runs),
        place_(place) {}

  Result<report::Document> build() {
    const store::SuiteRecord suite = chapters_of(runs_);
    if (auto known = check_only(request_.only, names_of(suite)); !known) {
      return tl::unexpected(known.error());
    }
    report::SuiteDocument document{suite.title, suite.text, {}, {}};
    for (const store::Run& run : runs_) document.runs.push_back(&run);
    for (const store::ChapterRecord& record : suite.chapters) {
      if (!is_asked(record, request_.only)) continue;
      auto chapter = chapter_of(record);
      if (!chapter) return tl::unexpected(chapter.error());
      document.chapters.push_back(std::move(*chapter));
    }
    return report::suite_document(std::move(document));
  }

 private:
  Result<report::SuiteChapter> chapter_of(const store::ChapterRecord& record) {
    report::SuiteChapter chapter;
    chapter.name = record.name;
    chapter.question = record.title;
    chapter.text = record.text;
    if (record.name.empty()) return chapter;
    chapter.left = record.left.empty() ? "not measured" : record.left;
    for (const store::Run& run : runs_) {
      const auto suite = store::suite_of(run.info);
      const store::ChapterRecord* own = suite ? suite->find(record.name) : nullptr;
      if (own == nullptr) continue;
      store::Run results = store::chapter_run(run, *own);
      for (const std::string& filter : request_.filters) {
        results.info.first.overrides.push_back("--filter " + filter);
      }
      chapter.cases += own->cases.size();
      chapter.measured += results.cases.size();
      if (!results.cases.empty()) chapter.runs.push_back(std::move(results));
    }
    // A filter leaves cases out on purpose.
    if (!request_.filters.empty()) chapter.cases = chapter.measured;
    if (chapter.runs.empty()) return chapter;
    auto content = content_of(record, chapter.runs);
    if (!content) return tl::unexpected(content.error());
    chapter.content = std::move(*content);
    return chapter;
  }

  Result<report::Document> content_of(const store::ChapterRecord& record,
                                      const std::vector<store::Run>& runs) {
    report::Inputs inputs = inputs_of(context_, database_, results_, request_.ceilings, runs);
    inputs.ceilings = with_all_reduces_of_suite(std::move(inputs.ceilings));
    inputs.with_context = false;
    inputs.folder = place_.folder;
    inputs.picture_prefix = place_.picture_prefix;
    inputs.pictures = record.name;
    if (Result<config::Written>& written = inputs.sources.front().written;
        written && !record.report.empty()) {
      auto report = yaml::parse(record.report, record.file);
      if (!report) return tl::unexpected(report.error());
      written->report = std::move(*report);
    }
    std::error_code error;
    if (place_.folder.empty()) return document_of_run(std::move(inputs));
    const std::filesystem::path pictures = place_.folder / record.name;
    std::filesystem::create_directories(pictures, error);
    if (error) {
      return fail(ExitCode::results_unreadable,
                  fmt::format("{} cannot be made: {}", pictures.string(), error.message()));
    }
    auto document = document_of_run(std::move(inputs));
    // A chapter without pictures needs no folder; one with pictures is not empty.
    std::filesystem::remove(pictures, error);
    return document;
  }

  // A chapter may need what another one measured of collectives.
  using CeilingsOf = std::function<Result<report::Ceilings>(const store::Run& source)>;
  CeilingsOf with_all_reduces_of_suite(CeilingsOf of_machine) const {
    return [this, of_machine = std::move(of_machine)](const store::Run& source) {
      auto ceilings = of_machine(source);
      if (!ceilings) return ceilings;
      for (const store::Run& run : runs_) {
        if (run.info.name == source.info.name) ceilings->prefer_all_reduces_of(run);
      }
      return ceilings;
    };
  }

  const Context& context_;
  store::Database* database_;
  const std::filesystem::path& results_;
  const ReportRequest& request_;
  const std::vector<store::Run>& runs_;
  const report::Inputs& place_;
};

}  // namespace

report::Inputs inputs_of(const Context& context, store::Database* database,
                         const std::filesystem::path& results,
                         const std::vector<std::string>& ceilings,
                         const std::vector<store::Run>& runs) {
  report::Inputs inputs;
  for (const store::Run& run : runs) inputs.sources.emplace_back(&run);
  inputs.layouts = context.installation.configs() / "layouts";
  inputs.results = results;
  inputs.metrics = metrics_of_all(context.catalogue);
  for (const report::Source& source : inputs.sources) {
    if (!source.written) continue;
    const auto passes = passes_of(context.catalogue, *source.written);
    inputs.passes.insert(inputs.passes.end(), passes.begin(), passes.end());
  }
  inputs.ceilings = [database, ceilings](const store::Run& source) {
    if (!ceilings.empty()) return ceilings_named(database, ceilings);
    return database == nullptr ? Result<report::Ceilings>()
                               : ceilings_of_machine(*database, source.info.first.machine);
  };
  return inputs;
}

Result<report::Document> document_of_run(report::Inputs inputs) {
  const Result<config::Written>& written = inputs.sources.front().written;
  if (written) inputs.spec = written->report;
  auto document = written ? report::build(inputs) : tl::unexpected(written.error());
  if (document) return document;
  inputs.spec = {};
  auto plain = report::build(inputs);
  if (!plain) return plain;
  plain->problems = std::move(document.error().diagnostics);
  const std::string why = Error{ExitCode::bad_input, plain->problems}.text();
  plain->sections.insert(
      plain->sections.begin(),
      report::Paragraph{
          "**The experiment's own report could not be made**, this is the default one: " +
          report::escape_cell(why)});
  return plain;
}

Result<report::Document> document_of_suite(const Context& context, store::Database* database,
                                           const std::filesystem::path& results,
                                           const ReportRequest& request,
                                           const std::vector<store::Run>& runs,
                                           const report::Inputs& place) {
  return SuiteBuilder(context, database, results, request, runs, place).build();
}

std::string suite_summary(const std::vector<store::Run>& runs,
                          const std::vector<std::string>& only) {
  std::string text;
  for (const store::ChapterRecord& chapter : chapters_of(runs).chapters) {
    if (chapter.name.empty() || !is_asked(chapter, only)) continue;
    std::map<Outcome, std::size_t> outcomes;
    std::size_t asked = 0, measured = 0;
    for (const store::Run& run : runs) {
      const auto suite = store::suite_of(run.info);
      const store::ChapterRecord* own = suite ? suite->find(chapter.name) : nullptr;
      if (own == nullptr) continue;
      asked += own->cases.size();
      const store::Run results = store::chapter_run(run, *own);
      measured += results.cases.size();
      for (const store::CaseResult& result : results.cases) ++outcomes[result.outcome];
    }
    std::vector<std::string> words;
    for (const auto& [outcome, count] : outcomes) {
      words.push_back(fmt::format("{} {}", count, to_text(outcome)));
    }
    if (measured == 0) {
      words = {"left out: " + (chapter.left.empty() ? "not measured" : chapter.left)};
    } else if (measured < asked) {
      words.push_back(fmt::format("{} not measured", asked - measured));
    }
    text += fmt::format("{}: {}\n", chapter.name, join(words, ", "));
  }
  return text;
}

}  // namespace assay::cli
