#include "cli/show/render.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/output.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "cli/case_choice.h"
#include "cli/show/document.h"
#include "cli/show/outcome_summary.h"
#include "cli/show/report_file.h"
#include "cli/show/terminal.h"
#include "report/page/report.h"
#include "store/exchange/import.h"
#include "store/records/suite.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

Result<yaml::Node> report_of_layout(const std::filesystem::path& layouts, const std::string& name) {
  const bool is_path = name.ends_with(".yaml");
  const auto known = yaml::documents_below(layouts);
  const auto named = known.find(name);
  if (!is_path && named == known.end()) {
    std::vector<std::string> names;
    for (const auto& [shipped, path] : known) names.push_back(shipped);
    return fail(ExitCode::bad_input,
                fmt::format("there is no layout '{}'{}", name, suggestion(name, names)),
                "or name a file that ends in .yaml");
  }
  auto node = yaml::parse_file(is_path ? name : named->second.string());
  if (!node) return node;
  const yaml::Node* report = node->find("report");
  return report == nullptr ? *node : *report;
}

Result<report::Document> document_of_layout(report::Inputs inputs, const std::string& layout) {
  auto spec = report_of_layout(inputs.layouts, layout);
  if (!spec) return tl::unexpected(spec.error());
  inputs.spec = std::move(*spec);
  auto document = report::build(inputs);
  if (!document || document->problems.empty()) return document;
  return tl::unexpected(Error{ExitCode::bad_input, std::move(document->problems)});
}

// Refuses a mixture of runs of suites and of experiments.
Result<bool> are_suites(const std::vector<store::Run>& runs, const ReportRequest& request) {
  const auto is_suite = [](const store::Run& run) { return store::suite_of(run.info).has_value(); };
  const auto suites = std::ranges::count_if(runs, is_suite);
  if (suites == 0 && !request.only.empty()) {
    return fail(
        ExitCode::bad_input,
        fmt::format("--only chooses chapters, and {} is no run of a suite", runs.front().info.name),
        "--filter chooses cases of any run");
  }
  if (suites == 0 || suites == std::ssize(runs)) return suites > 0;
  const auto other = std::ranges::find_if_not(runs, is_suite);
  return fail(
      ExitCode::bad_input,
      fmt::format("{} is a run of an experiment, and another is of a suite", other->info.name),
      "report them apart, or with --layout");
}

Result<store::Run> load(store::Database* database, const std::string& name) {
  if (store::is_run_file(name)) return store::import_file(name);
  if (database != nullptr) return database->load_run(name);
  return fail(ExitCode::bad_input, fmt::format("there is no run '{}'", name));
}

std::vector<std::string> findings_of(const report::Document& document) {
  std::vector<std::string> findings;
  for (const report::Section& section : document.sections) {
    const auto* list = std::get_if<report::List>(&section);
    if (list == nullptr || !list->findings) continue;
    findings.insert(findings.end(), list->items.begin(), list->items.end());
  }
  return findings;
}

void print_findings(const std::vector<std::string>& findings) {
  constexpr std::size_t most = 20;
  if (findings.empty()) return;
  const Colours colours = Colours::of_stream(STDOUT_FILENO);
  print_out("\n{}\n", colours.bold("Findings"));
  for (std::size_t i = 0; i < std::min(findings.size(), most); ++i) {
    print_out("- {}\n", plain_markdown(findings[i], colours));
  }
  if (findings.size() > most) print_out("- and {} more in the report\n", findings.size() - most);
}

Result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return fail(ExitCode::results_unreadable,
              fmt::format("{} cannot be made: {}", folder.string(), error.message()));
}

// The folder of a run lies in the results folder: through a link a report would replace another's.
Result<void> refuse_link(const std::filesystem::path& file, const ReportRequest& request) {
  std::error_code ignored;
  const std::filesystem::path folder = file.parent_path();
  const bool of_run = !request.output && !store::is_run_file(request.runs.front());
  if (!of_run || !std::filesystem::is_symlink(folder, ignored)) return {};
  return fail(
      ExitCode::results_unreadable,
      fmt::format("{} is a link, and a run's report is not written through it", folder.string()),
      "name a file with --output, or put a folder in its place");
}

// Whether the file is there with another content.
bool differs(const std::filesystem::path& file, const std::string& content) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return false;
  const auto before = read_file(file.string());
  return !before || *before != content;
}

}  // namespace

Result<Rendered> render_report(const Context& context, store::Database* database,
                               const std::filesystem::path& results, const ReportRequest& request) {
  const auto file = report_file(results, request);
  if (!file) return tl::unexpected(file.error());
  if (auto plain = refuse_link(file->path, request); !plain) {
    return tl::unexpected(plain.error());
  }
  std::vector<store::Run> loaded;
  for (const std::string& name : request.runs) {
    auto run = load(database, name);
    if (!run) return tl::unexpected(run.error());
    if (auto kept = keep_cases(request.filters, *run); !kept) return tl::unexpected(kept.error());
    if (run->cases.empty() && !request.filters.empty()) continue;
    loaded.push_back(std::move(*run));
  }
  if (loaded.empty()) {
    std::string hint =
        fmt::format("--filter '{}' drops all of them", join(request.filters, "' and '"));
    if (const auto run = load(database, request.runs.front())) {
      const std::string unknown = unknown_names(request.filters, *run);
      if (!unknown.empty()) hint += ": " + unknown;
    }
    return fail(ExitCode::bad_input, fmt::format("no case of {} is left", join(request.runs, ", ")),
                std::move(hint));
  }
  bool of_suite = false;
  if (!request.layout) {
    const auto suites = are_suites(loaded, request);
    if (!suites) return tl::unexpected(suites.error());
    of_suite = *suites;
  }
  report::Inputs inputs = inputs_of(context, database, results, request.ceilings, loaded);

  Rendered rendered;
  rendered.file = file->path;
  inputs.picture_prefix = file->picture_prefix;
  if (!rendered.file.empty()) {
    inputs.folder = rendered.file.has_parent_path() ? rendered.file.parent_path() : ".";
    if (auto made = make_folder(inputs.folder); !made) return tl::unexpected(made.error());
  }
  const auto document = of_suite
                            ? document_of_suite(context, database, results, request, loaded, inputs)
                        : request.layout ? document_of_layout(inputs, *request.layout)
                                         : document_of_run(inputs);
  if (!document) return tl::unexpected(document.error());
  const auto markdown = report::to_markdown(*document);
  if (!markdown) return tl::unexpected(markdown.error());
  if (rendered.file.empty()) {
    rendered.markdown = *markdown;
  } else {
    rendered.replaced = !file->own && differs(rendered.file, *markdown);
    if (auto written = write_file(rendered.file.string(), *markdown); !written) {
      written.error().exit_code = ExitCode::results_unreadable;
      return tl::unexpected(written.error());
    }
  }
  rendered.tables =
      of_suite ? suite_summary(loaded, request.only) : report::to_terminal(*document, 0);
  rendered.summary = outcome_summary(loaded);
  rendered.findings = of_suite ? std::vector<std::string>() : findings_of(*document);
  rendered.problems = document->problems;
  return rendered;
}

ExitCode print(const Rendered& rendered) {
  if (rendered.file.empty()) {
    write_out(rendered.markdown);
  } else {
    print_out("{}\n{}report: {}{}\n", rendered.tables, as_called(rendered.summary),
              rendered.file.string(), rendered.replaced ? " (in place of an earlier file)" : "");
    print_findings(rendered.findings);
  }
  if (rendered.problems.empty()) return ExitCode::ok;
  std::fflush(stdout);
  const Error error{ExitCode::bad_input, rendered.problems};
  print_error("{}\n", error.text());
  return error.exit_code;
}

}  // namespace assay::cli
