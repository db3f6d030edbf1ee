#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "base/output.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "cli/ceilings.h"
#include "cli/commands/commands.h"
#include "cli/launching.h"
#include "cli/resume.h"
#include "cli/run_invocation.h"
#include "cli/show/progress.h"
#include "cli/show/render.h"
#include "cli/suite_outlook.h"
#include "cli/time_by_counts.h"
#include "compare/compare.h"
#include "compare/render.h"
#include "run/cases/machine.h"
#include "run/plugins/compiled_options.h"
#include "run/schedule/launch.h"
#include "run/schedule/runner.h"
#include "store/database/baselines.h"

namespace assay::cli {

namespace {

Usage run_usage() {
  Usage usage{
      "run",
      "FILE…",
      "Runs every case of the experiments, stores the results and writes the reports. A suite "
      "is\nmeasured as one run, each case once, and reported as one document.",
      "assay run experiments/quickstart.yaml --set attention=[naive,flash_libtorch] --filter "
      "'seq_len<=256'\n"
      "  assay run experiments/quickstart.yaml --resume --retry oom,timeout\n"
      "  assay run --experiment-of quickstart-1 --case 3\n"
      "  assay run experiments/writeup.yaml --only norm_layer --only warmup",
      po::options_description("Options"),
      {}};
  add_experiment_options(usage.options);
  add_results_option(usage.options);
  add_external_option(usage.options);
  add_launch_options(usage.options);
  add_resume_options(usage.options);
  usage.options.add_options()(
      "experiment-of", po::value<std::string>()->value_name("RUN"),
      "take the experiment from a stored run, with its --set and --filter, instead of from FILE")(
      "case", po::value<std::string>()->value_name("CASE"),
      "only this case of --experiment-of: its number, the beginning of its key or an expression "
      "such as 'outcome == oom'")("only",
                                  po::value<std::vector<std::string>>()->value_name("CHAPTER"),
                                  "measure only this chapter of a suite; may be repeated")(
      "under", po::value<std::string>()->value_name("nsys|ncu"),
      "start each case's workers under Nsight Systems or Nsight Compute and keep their report as a "
      "file of the case; times are not kept")(
      "experiment-file", po::value<std::vector<std::string>>()->value_name("FILE"),
      "an experiment; the same as the argument");
  add_name_options(usage.options);
  usage.positions.add("experiment-file", -1);
  return usage;
}

struct Finished {
  run::RunEnd end;
  std::size_t failed = 0;                // cases that are neither ok, skipped nor unsupported
  tl::expected<Rendered, Error> report;  // an error does not stop the next experiment
  std::string resuming;                  // the command that measures the rest; "" after a whole run
  std::string change;                    // since --baseline
};

// Absolute paths, so that the run can be repeated from another folder.
std::vector<std::string> absolute(const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const std::string& file : files) {
    std::error_code ignored;
    const std::filesystem::path path = std::filesystem::absolute(file, ignored);
    paths.push_back(path.lexically_normal().string());
  }
  return paths;
}

std::string resuming(const po::variables_map& values, const RunInvocation& invocation,
                     const std::string& run) {
  std::vector<std::string> words = {called_as(), "run"};
  words.insert(words.end(), invocation.words.begin(), invocation.words.end());
  words.insert(words.end(), {"--resume", run});
  if (values.count("results") > 0)
    words.insert(words.end(), {"--results", text_or(values, "results", "")});
  for (const std::string& file : texts(values, "plugin")) {
    words.insert(words.end(), {"--plugin", file});
  }
  if (values["allow-external"].as<bool>()) words.emplace_back("--allow-external");
  const auto launch = launch_words(values);
  words.insert(words.end(), launch.begin(), launch.end());
  return shell_command(words);
}

// The run of --baseline, as it is before this one may take its place.
Result<std::optional<std::string>> baseline_asked(const po::variables_map& values,
                                                  store::Database& database) {
  if (values.count("baseline") == 0) return std::optional<std::string>();
  auto run = store::baseline_run(database, text_or(values, "baseline", ""));
  if (!run) return tl::unexpected(run.error());
  return std::optional(std::move(*run));
}

// The comparison of the run with its baseline, as `assay compare` prints it.
Result<std::string> change_since(store::Database& database, const std::string& baseline,
                                 const std::string& now) {
  compare::Side before{baseline, {}}, after{now, {}};
  for (compare::Side* side : {&before, &after}) {
    auto run = database.load_run(side->name);
    if (!run) return tl::unexpected(run.error());
    side->runs.push_back(std::move(*run));
  }
  const auto comparison = compare::compare(before, after, {});
  if (!comparison) return tl::unexpected(comparison.error());
  return compare::to_terminal(*comparison);
}

// Warns where cases of a stored run were repeated with other binaries.
void tell_other_binaries(store::Database& database, const std::string& before,
                         const std::string& now) {
  const auto stored = database.recorded_cases(before);
  const auto repeated = database.recorded_cases(now);
  if (!stored || !repeated) return;
  const auto others = std::count_if(repeated->begin(), repeated->end(), [&](const auto& entry) {
    const auto was = stored->find(entry.first);
    return was != stored->end() && was->second.build != entry.second.build;
  });
  if (others == 0) return;
  print_error("{}",
              as_called(fmt::format("{} of {} {} measured with other binaries than in {}; "
                                    "`assay show` names a case's binaries\n",
                                    others, repeated->size(),
                                    repeated->size() == 1 ? "case was" : "cases were", before)));
}

// Says what a suite will measure before it begins.
void tell_outlook(const Context& context, const po::variables_map& values,
                  const PlannedSuite& suite, const std::optional<std::string>& resume,
                  store::Database& database) {
  const run::Machine machine = run::probe_machine();
  const run::Work work(context.catalogue, machine, values["allow-external"].as<bool>(),
                       suite.chapter_plans());
  std::set<std::string> done;
  if (resume) {
    if (const auto recorded = database.recorded_cases(*resume)) {
      for (const auto& [key, result] : *recorded) done.insert(key);
    }
  }
  const KnownTimes times = known_times(context.catalogue, database, machine);
  print_error("{}", outlook_of(suite, work, times, done).text(suite.suite.name));
}

Result<Finished> run_one(const Context& context, const po::variables_map& values,
                         const RunInvocation& invocation) {
  const auto again = asked_again(values);
  if (!again) return tl::unexpected(again.error());
  auto database = open_database(values, store::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  const auto resume = run_to_resume(values, *database, invocation);
  if (!resume) return tl::unexpected(resume.error());
  const auto baseline = baseline_asked(values, *database);
  if (!baseline) return tl::unexpected(baseline.error());

  run::RunRequest request{context.installation,
                          context.catalogue,
                          invocation.experiment,
                          invocation.plan,
                          results_folder(values),
                          invocation.overrides,
                          *resume,
                          values["allow-external"].as<bool>(),
                          *again,
                          absolute(texts(values, "plugin")),
                          [&](const auto& needs, const auto& stop) {
                            return run::build_compiled(context.installation, needs, stop);
                          }};
  if (invocation.suite) {
    request.chapters = invocation.suite->chapter_plans();
    request.suite = invocation.suite->record;
    tell_outlook(context, values, *invocation.suite, *resume, *database);
  }
  request.name = text_or(values, "name", "");
  request.baseline = text_or(values, "save-baseline", "");
  if (values.count("under") > 0) {
    auto tool = run::ProfilingTool::find(text_or(values, "under", ""));
    if (!tool) return tl::unexpected(tool.error());
    request.under = std::move(*tool);
  }
  auto launch = launch_request(values, context.installation);
  if (!launch) return tl::unexpected(launch.error());
  request.launch = std::move(*launch);
  request.ceilings = [&](const nlohmann::json& machine) {
    return device_ceilings_if_readable(*database, machine);
  };
  Progress progress = Progress::of_stderr();
  auto end = run::run_experiment(request, *database, progress);
  if (!end) {
    progress.close();
    return tl::unexpected(end.error());
  }
  auto report =
      render_report(context, &*database, results_folder(values), ReportRequest{{end->run}});
  progress.close();
  if (invocation.of) tell_other_binaries(*database, *invocation.of, end->run);
  Finished finished{std::move(*end), 0, std::move(report), {}};
  for (const auto& [outcome, count] : finished.end.outcomes) {
    const bool fine =
        outcome == Outcome::ok || outcome == Outcome::skipped || outcome == Outcome::unsupported;
    if (!fine) finished.failed += count;
  }
  if (*baseline) {
    auto change = change_since(*database, **baseline, finished.end.run);
    if (!change) return tl::unexpected(change.error());
    finished.change = std::move(*change);
  }
  if (finished.end.interrupted) finished.resuming = resuming(values, invocation, finished.end.run);
  return finished;
}

ExitCode print(const Finished& finished) {
  ExitCode code = ExitCode::ok;
  if (finished.report) {
    code = print(*finished.report);
  } else {
    print_error("{}\n", finished.report.error().text());
    code = finished.report.error().exit_code;
  }
  if (!finished.change.empty()) print_out("{}", finished.change);
  if (finished.end.interrupted) {
    print_out("interrupted; `{}` measures the rest\n", finished.resuming);
  }
  if (finished.failed > 0 || finished.end.interrupted) {
    code = std::max(code, ExitCode::some_case_not_ok);
  }
  return code;
}

Result<void> check_names(const po::variables_map& values, std::size_t files, bool stored) {
  const bool resumed =
      values.count("resume") > 0 || values.count("retry") > 0 || (values["rerun"].as<bool>());
  for (const char* option : {"name", "save-baseline"}) {
    if (values.count(option) == 0) continue;
    if (resumed) {
      return fail(ExitCode::bad_input,
                  fmt::format("--{} is for a new run, and this one is resumed", option));
    }
    if (!stored && files > 1) {
      return fail(ExitCode::bad_input,
                  fmt::format("--{} is for one run, and {} experiments are named", option, files));
    }
  }
  return check_baseline_name(text_or(values, "save-baseline", "main"));
}

// Reads all experiments before the first is measured; the error lists the mistakes of all.
Result<std::vector<RunInvocation>> all_invocations(const Context& context,
                                                   const po::variables_map& values) {
  const std::vector<std::string> files = texts(values, "experiment-file");
  const bool stored =
      values.count("experiment-of") > 0 || (files.empty() && values.count("resume") > 0);
  if (stored && !files.empty()) {
    return fail(ExitCode::bad_input, "an experiment's file and --experiment-of were both given",
                "give only one of them");
  }
  if (!stored && values.count("case") > 0) {
    return fail(ExitCode::bad_input, "--case needs a stored run",
                "name it with --experiment-of RUN; --filter chooses cases of a file");
  }
  if (!stored && files.empty()) {
    return fail(ExitCode::bad_input, "no experiment was named",
                "for example `assay run experiments/quickstart.yaml`");
  }
  if (auto named = check_names(values, files.size(), stored); !named) {
    return tl::unexpected(named.error());
  }
  std::vector<RunInvocation> all;
  std::optional<Error> wrong;
  for (const std::string& file : files) {
    auto invocation = invocation_of_file(context, values, file);
    if (invocation) {
      all.push_back(std::move(*invocation));
    } else if (!wrong) {
      wrong = std::move(invocation.error());
    } else {
      auto& diagnostics = invocation.error().diagnostics;
      std::move(diagnostics.begin(), diagnostics.end(), std::back_inserter(wrong->diagnostics));
    }
  }
  if (wrong) return tl::unexpected(std::move(*wrong));
  if (!stored) return all;
  auto invocation = invocation_of_run(context, values);
  if (!invocation) return tl::unexpected(invocation.error());
  all.push_back(std::move(*invocation));
  return all;
}

// The arguments without --write-script.
std::vector<std::string> without_script(const Arguments& arguments) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--write-script") {
      ++i;
    } else if (!arguments[i].starts_with("--write-script=")) {
      words.push_back(arguments[i]);
    }
  }
  return words;
}

// Writes the batch file that runs the same command in an allocation which fits its cases.
Result<ExitCode> write_script(const Context& context, const po::variables_map& values,
                              const std::vector<RunInvocation>& all, const Arguments& arguments) {
  const auto launch = launch_request(values, context.installation);
  if (!launch) return tl::unexpected(launch.error());
  if (!*launch) return ExitCode::bad_input;
  const run::Machine machine = run::probe_machine();
  run::LaunchSize needed;
  for (const RunInvocation& invocation : all) {
    const bool external = values["allow-external"].as<bool>();
    const run::LaunchSize size =
        run::needed_size(invocation.suite ? run::Work(context.catalogue, machine, external,
                                                      invocation.suite->chapter_plans())
                                          : run::Work(context.catalogue, machine, external,
                                                      invocation.experiment, invocation.plan));
    needed.nodes = std::max(needed.nodes, size.nodes);
    needed.ranks_per_node = std::max(needed.ranks_per_node, size.ranks_per_node);
  }
  const auto size = run::size_of(**launch, needed, run::own_variables());
  if (!size) return tl::unexpected(size.error());
  std::vector<std::string> command = {context.installation.executable.string(), "run"};
  const auto rest = without_script(arguments);
  command.insert(command.end(), rest.begin(), rest.end());
  const auto script = run::batch_script(**launch, *size, shell_command(command));
  if (!script) return tl::unexpected(script.error());
  const std::string file = text_or(values, "write-script", "");
  if (auto written = write_file(file, *script); !written) return tl::unexpected(written.error());
  print_out("batch file: {}\n", file);
  return ExitCode::ok;
}

}  // namespace

Result<ExitCode> run_command(const Arguments& arguments) {
  const auto values = parse(run_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  // Beyond `ulimit -f` or on a closed pipe a write fails instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  const auto all = all_invocations(*context, **values);
  if (!all) return tl::unexpected(all.error());
  if ((*values)->count("write-script") > 0) {
    return write_script(*context, **values, *all, arguments);
  }
  ExitCode code = ExitCode::ok;
  std::vector<Finished> unprinted;
  const auto print_all = [&] {
    for (const Finished& finished : unprinted) code = std::max(code, print(finished));
    unprinted.clear();
  };
  for (const RunInvocation& invocation : *all) {
    auto finished = run_one(*context, **values, invocation);
    if (!finished) {
      print_all();
      return tl::unexpected(finished.error());
    }
    unprinted.push_back(std::move(*finished));
    if (unprinted.back().end.interrupted) break;
    // A stopped terminal does not delay the next experiment.
    if (output_stream_is_ready() && error_stream_is_ready()) print_all();
  }
  print_all();
  return code;
}

}  // namespace assay::cli
