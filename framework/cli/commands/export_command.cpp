#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "run/workers/worker.h"
#include "store/exchange/artefact_files.h"
#include "store/exchange/export.h"
#include "store/exchange/gzip.h"

namespace assay::cli {

namespace {

Usage export_usage() {
  Usage usage{"export",
              "RUN",
              "Writes a run as JSON Lines (everything, for `assay import` elsewhere) or as "
              "CSV (the figures).",
              "assay export latest --output results.jsonl",
              po::options_description("Options"),
              {}};
  add_results_option(usage.options);
  usage.options.add_options()(
      "output", po::value<std::string>()->value_name("FILE"),
      "where to write (default: standard output); packed if it ends in .gz")(
      "metric", po::value<std::vector<std::string>>()->value_name("NAME"),
      "write only this metric, such as time; may be repeated (default: all)")(
      "format", po::value<std::string>()->value_name("jsonl|csv"),
      "default: csv for an output that ends in .csv, else jsonl")(
      "run", po::value<std::string>()->value_name("RUN"), "the run; the same as the argument");
  usage.positions.add("run", 1);
  return usage;
}

Result<void> keep_metrics(const std::vector<std::string>& wanted, store::Run& run) {
  std::set<std::string> known;
  for (const store::CaseResult& result : run.cases) {
    for (const store::Series& series : result.series) known.insert(series.metric);
  }
  for (const std::string& metric : wanted) {
    if (known.contains(metric)) continue;
    return fail(ExitCode::bad_input, fmt::format("{} has no metric '{}'{}", run.info.name, metric,
                                                 suggestion(metric, {known.begin(), known.end()})));
  }
  const std::set<std::string> kept(wanted.begin(), wanted.end());
  for (store::CaseResult& result : run.cases) {
    std::erase_if(result.series,
                  [&](const store::Series& series) { return !kept.contains(series.metric); });
  }
  return {};
}

Result<void> write(const store::Run& run, const std::string& format, std::ostream& stream) {
  return format == "csv" ? store::export_csv(run, stream) : store::export_json_lines(run, stream);
}

Result<void> write_file_of(const store::Run& run, const std::string& format,
                           const std::string& output) {
  std::ofstream stream(output, std::ios::binary);
  if (!stream) return fail(ExitCode::results_unreadable, output + " cannot be written");
  if (!output.ends_with(".gz")) return write(run, format, stream);
  std::ostringstream text;
  if (const auto written = write(run, format, text); !written) return written;
  stream << store::gzip(text.str());
  if (!stream.flush()) return fail(ExitCode::results_unreadable, output + " cannot be written");
  return {};
}

}  // namespace

Result<ExitCode> export_command(const Arguments& arguments) {
  const auto values = parse(export_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string output = text_or(**values, "output", "");
  const std::string format = text_or(
      **values, "format", store::plain_name(output).extension() == ".csv" ? "csv" : "jsonl");
  if (format != "csv" && format != "jsonl") {
    return fail(ExitCode::bad_input, fmt::format("unknown format '{}'", format),
                "known: jsonl, csv");
  }
  auto database = open_database(**values, store::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  const auto name = run_name(*database, text_or(**values, "run", "latest"));
  if (!name) return tl::unexpected(name.error());
  auto run = database->load_run(*name);
  if (!run) return tl::unexpected(run.error());
  if (const auto metrics = texts(**values, "metric"); !metrics.empty()) {
    if (const auto kept = keep_metrics(metrics, *run); !kept) return tl::unexpected(kept.error());
  }
  if (output.empty()) {
    const auto written = write(*run, format, std::cout);
    return written ? Result<ExitCode>(ExitCode::ok) : tl::unexpected(written.error());
  }
  if (const auto written = write_file_of(*run, format, output); !written) {
    return tl::unexpected(written.error());
  }
  print_out("{}: {} cases of {}\n", output, run->cases.size(), *name);
  const store::CarriedFiles carried =
      store::export_artefacts(*run, results_folder(**values) / *name, output);
  if (carried.files > 0) {
    print_out("{}: {}\n", store::artefacts_beside(output).string(),
              counted(carried.files, "file", "files"));
  }
  for (const std::string& problem : carried.problems) {
    print_error("left out: {}\n", printable(problem));
  }
  return ExitCode::ok;
}

}  // namespace assay::cli
