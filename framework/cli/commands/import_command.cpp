#include <fmt/format.h>

#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "config/experiment.h"
#include "run/workers/worker.h"
#include "store/exchange/artefact_files.h"
#include "store/exchange/import.h"

namespace assay::cli {

namespace {

Usage import_usage() {
  Usage usage{
      "import",
      "FILE",
      "Reads results from JSON Lines (as `assay export` writes them) or CSV into the database\n"
      "and prints the name of the new run.",
      "assay import figures.csv --experiment experiments/model_timing.yaml",
      po::options_description("Options"),
      {}};
  add_results_option(usage.options);
  usage.options.add_options()(
      "experiment", po::value<std::string>()->value_name("NAME|FILE"),
      "the experiment of the results; a file also gives their title and report")(
      "file", po::value<std::string>()->value_name("FILE"),
      "the results; the same as the argument");
  usage.positions.add("file", 1);
  return usage;
}

// An experiment's file gives name, title and text; a bare word is only the name.
Result<void> attach_experiment(const std::string& experiment, store::Run& run) {
  if (experiment.empty()) return {};
  if (!experiment.ends_with(".yaml")) {
    run.info.experiment = experiment;
    return {};
  }
  const auto context = open_context();
  if (!context) return tl::unexpected(context.error());
  const auto read = config::read_experiment(experiment, context->environment());
  if (!read) return tl::unexpected(read.error());
  run.info.experiment = read->name;
  run.info.title = read->title;
  run.info.first.experiment_text = read->text;
  run.info.first.experiment_file = experiment;
  return {};
}

}  // namespace

Result<ExitCode> import_command(const Arguments& arguments) {
  const auto values = parse(import_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string file = text_or(**values, "file", "");
  if (file.empty()) return fail(ExitCode::bad_input, "no file was named");
  auto run = store::import_file(file, {.when = timestamp_utc()});
  if (!run) return tl::unexpected(run.error());
  const auto attached = attach_experiment(text_or(**values, "experiment", ""), *run);
  if (!attached) return tl::unexpected(attached.error());
  const store::ImportedArtefacts artefacts(*run);
  auto database = open_database(**values, store::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  const auto name = database->add_run(*run);
  if (!name) return tl::unexpected(name.error());
  for (const std::string& problem :
       artefacts.copy(file, results_folder(**values) / *name).problems) {
    print_error("a file of the run is missing: {}\n", printable(problem));
  }
  print_out("{}\n", *name);
  return ExitCode::ok;
}

}  // namespace assay::cli
