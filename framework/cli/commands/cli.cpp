#include "cli/commands/cli.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "base/json.h"
#include "base/output.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "run/process/installation.h"
#include "run/schedule/provenance.h"

namespace assay::cli {

namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  Result<ExitCode> (*run)(const Arguments&);
};

constexpr std::array<Command, 17> commands = {{
    {"run", "Plan, run, store and report experiments.", run_command},
    {"bench", "Compare variants and sources of your own without a YAML file.", bench_command},
    {"plan", "List every case of an experiment, and what would be skipped here and why.",
     plan_command},
    {"report", "Make the report of stored runs again, also with another layout.", report_command},
    {"compare", "Say which cases are faster or slower than in another run, and by how much.",
     compare_command},
    {"calibrate",
     "Measure this machine's ceilings: copies, matrix products, launches, collectives.",
     calibrate_command},
    {"list", "List plugins, experiments, layouts, models, runs and baselines.", list_command},
    {"show", "Show everything known of one plugin, experiment, layout, model or run.",
     show_command},
    {"new", "Write a working variant with its test.", new_command},
    {"check", "Check one plugin with the conformance suite of its kind.", check_command},
    {"schema", "Print the JSON Schema of experiments, for editors.", schema_command},
    {"doctor", "Say what this machine has, what is missing, and how to get it.", doctor_command},
    {"export", "Write a run as JSON Lines or CSV.", export_command},
    {"import", "Read results from JSON Lines or CSV into the database.", import_command},
    {"rm", "Remove runs with the files of their cases.", rm_command},
    {"completion", "Print a script that lets a shell complete all of these.", completion_command},
    {"worker", "Run one rank of a case; assay starts it.", worker_command},
}};

void print_help() {
  print_out(
      "assay measures the parts of LLM training systems and writes the report.\n\n"
      "assay COMMAND [options]\nassay --version\n\nCommands:\n");
  for (const Command& command : commands) print_out("  {:<10} {}\n", command.name, command.summary);
  print_out(
      "\n`assay COMMAND --help` shows the options and an example.\n\nExample:\n"
      "  assay run experiments/quickstart.yaml\n");
}

// "assay 0.1.0, commit 47cad82a64e5 with uncommitted changes"
void print_version() {
  std::string text = "assay " ASSAY_VERSION;
  if (const auto installation = run::find_installation()) {
    const nlohmann::json source = run::source_state(*installation);
    constexpr std::size_t digits = 12;
    const std::string commit = string_at(source, "commit").substr(0, digits);
    if (!commit.empty()) text += ", commit " + commit;
    const bool changed = !commit.empty() && member_of(source, "clean") == nlohmann::json(false);
    if (changed) text += " with uncommitted changes";
  }
  print_out("{}\n", text);
}

int complain(const Error& error) {
  print_error("{}\n", as_called(error.text()));
  return static_cast<int>(error.exit_code);
}

// Fails where standard output could not be written in full; a worker's output is its plugins' own.
int with_all_written(const Command& command, int exit_code) {
  if (command.name == "worker") return exit_code;
  const auto why = why_not_all_written_out();
  if (!why || exit_code == static_cast<int>(ExitCode::results_unreadable)) return exit_code;
  return complain({ExitCode::results_unreadable,
                   {{{},
                     "standard output could not be written in full: " + *why,
                     command.name == "run" ? "the run's report has everything" : ""}}});
}

}  // namespace

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

int run_command_line(int argc, char** argv) {
  open_standard_streams();
  const Arguments words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return static_cast<int>(words.empty() ? ExitCode::bad_input : ExitCode::ok);
  }
  if (words[0] == "--version") {
    print_version();
    return static_cast<int>(ExitCode::ok);
  }
  std::vector<std::string> names;
  for (const Command& command : commands) {
    names.emplace_back(command.name);
    if (command.name != words[0]) continue;
    const auto done = command.run({words.begin() + 1, words.end()});
    return with_all_written(command, done ? static_cast<int>(*done) : complain(done.error()));
  }
  return complain(
      {ExitCode::bad_input,
       {{{}, fmt::format("unknown command '{}'{}", words[0], suggestion(words[0], names)), {}}}});
}

}  // namespace assay::cli
