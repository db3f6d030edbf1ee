#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/render.h"
#include "run/runner.h"

namespace assay::cli {

namespace {

Usage usage() {
  Usage usage{
      "run",
      "FILE…",
      "Runs every case of the experiments, stores what was measured and writes their reports.",
      "assay run experiments/quickstart.yaml --set attention=[naive,flash] --filter 'seq_len<=256'",
      po::options_description("Options"),
      {}};
  add_experiment_options(usage.options);
  add_results_option(usage.options);
  usage.options.add_options()("resume",
                              po::value<std::string>()->value_name("RUN")->implicit_value("latest"),
                              "complete a run (the newest of the experiment unless one is named)")(
      "allow-external", po::bool_switch(),
      "let external variants run their programs on this machine")(
      "experiment-file", po::value<std::vector<std::string>>()->value_name("FILE"),
      "an experiment; the same as the argument");
  usage.positions.add("experiment-file", -1);
  return usage;
}

struct Finished {
  run::RunEnd end;
  std::size_t failed = 0;  // cases that are neither ok, skipped nor unsupported
};

Result<std::optional<std::string>> run_to_resume(const po::variables_map& values,
                                                 store::Database& database,
                                                 const config::Experiment& experiment) {
  const std::string asked = text_or(values, "resume", "");
  if (asked.empty()) return std::optional<std::string>();
  if (asked != "latest") return std::optional(asked);
  auto latest = database.latest_run(experiment.name);
  if (!latest) return latest;
  if (!*latest) {
    return fail(ExitCode::bad_input, fmt::format("'{}' has no run to resume", experiment.name));
  }
  return latest;
}

Result<Finished> run_one(const Session& session, const po::variables_map& values,
                         const std::string& file) {
  const config::Override given = overrides(values);
  const auto experiment = config::read_experiment(file, session.environment(), given);
  if (!experiment) return tl::unexpected(experiment.error());
  const auto plan = config::expand(*experiment);
  if (!plan) return tl::unexpected(plan.error());
  if (const auto checked = check_report(session, *experiment, *plan); !checked) {
    return tl::unexpected(checked.error());
  }
  auto database = open_database(values, store::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  const auto resume = run_to_resume(values, *database, *experiment);
  if (!resume) return tl::unexpected(resume.error());

  run::RunRequest request{session.installation,
                          session.catalogue,
                          *experiment,
                          *plan,
                          {},
                          *resume,
                          values["allow-external"].as<bool>()};
  for (const std::string& setting : given.settings) request.overrides.push_back("--set " + setting);
  for (const std::string& filter : given.filters) request.overrides.push_back("--filter " + filter);
  Progress progress(::isatty(STDERR_FILENO) != 0);
  auto end = run::run_experiment(request, *database, progress);
  progress.close();
  if (!end) return tl::unexpected(end.error());

  const auto rendered =
      render_report(session, *database, results_folder(values), {end->run}, std::nullopt);
  if (!rendered) return tl::unexpected(rendered.error());
  fmt::print("{}\nreport: {}\n", rendered->tables, rendered->file.string());

  Finished finished{std::move(*end), 0};
  for (const auto& [outcome, count] : finished.end.outcomes) {
    const bool fine =
        outcome == Outcome::ok || outcome == Outcome::skipped || outcome == Outcome::unsupported;
    if (!fine) finished.failed += count;
  }
  if (finished.end.interrupted) {
    fmt::print("interrupted; `assay run {} --resume {}` does what is missing\n", file,
               finished.end.run);
  }
  return finished;
}

}  // namespace

Result<ExitCode> run_command(const Arguments& arguments) {
  const auto values = parse(usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::vector<std::string> files = texts(**values, "experiment-file");
  if (files.empty()) {
    return fail(ExitCode::bad_input, "no experiment was named",
                "for example `assay run experiments/quickstart.yaml`");
  }
  const auto session = open_session(texts(**values, "plugin"));
  if (!session) return tl::unexpected(session.error());
  ExitCode code = ExitCode::ok;
  for (const std::string& file : files) {
    const auto finished = run_one(*session, **values, file);
    if (!finished) return tl::unexpected(finished.error());
    if (finished->failed > 0 || finished->end.interrupted) code = ExitCode::some_case_not_ok;
    if (finished->end.interrupted) break;
  }
  return code;
}

}  // namespace assay::cli
