#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/show/render.h"
#include "store/exchange/import.h"

namespace assay::cli {

namespace {

Usage report_usage() {
  Usage usage{
      "report",
      "RUN|FILE…",
      "Makes the report of stored runs or exported files; several are merged into one report. "
      "`latest` is\nthe newest run. Of a suite it is one document of the chapters that have "
      "results.",
      "assay report latest --layout model_totals --filter 'seq_len == 256'",
      po::options_description("Options"),
      {}};
  add_results_option(usage.options);
  usage.options.add_options()("layout", po::value<std::string>()->value_name("NAME|FILE"),
                              "use this layout instead of the experiment's own report")(
      "output", po::value<std::string>()->value_name("FILE"),
      "the Markdown file to write, or - for standard output (default: results/RUN/report.md; of a "
      "layout, several runs or some cases a name beside it)")(
      "ceilings", po::value<std::vector<std::string>>()->value_name("RUN|FILE"),
      "take the ceilings of shares from this run or exported file (default: the machine's newest "
      "calibrations); may be repeated, the first that has a ceiling counts")(
      "filter", po::value<std::vector<std::string>>()->value_name("EXPRESSION"),
      "report only the cases for which it holds, such as 'seq_len == 256'; may be repeated")(
      "only", po::value<std::vector<std::string>>()->value_name("CHAPTER"),
      "of a suite's run, only this chapter; may be repeated")(
      "run", po::value<std::vector<std::string>>()->value_name("RUN"),
      "a run; the same as the argument");
  usage.positions.add("run", -1);
  return usage;
}

}  // namespace

Result<ExitCode> report_command(const Arguments& arguments) {
  const auto values = parse(report_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const auto context = open_context();
  if (!context) return tl::unexpected(context.error());
  std::vector<std::string> asked = texts(**values, "run");
  if (asked.empty()) asked = {"latest"};
  const bool stored = !std::ranges::all_of(asked, store::is_run_file);
  auto database = open_database(**values, store::Access::read_only);
  if (!database && stored) return tl::unexpected(database.error());
  std::vector<std::string> runs;
  for (const std::string& name : asked) {
    auto run = store::is_run_file(name) ? Result<std::string>(name) : run_name(*database, name);
    if (!run) return tl::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  const auto optional_text = [&](const char* name) {
    return (*values)->count(name) > 0 ? std::optional((**values)[name].as<std::string>())
                                      : std::nullopt;
  };
  const auto rendered = render_report(
      *context, database ? &*database : nullptr, results_folder(**values),
      {runs, optional_text("layout"), optional_text("output"), texts(**values, "ceilings"),
       texts(**values, "filter"), texts(**values, "only")});
  if (!rendered) return tl::unexpected(rendered.error());
  return print(*rendered);
}

}  // namespace assay::cli
