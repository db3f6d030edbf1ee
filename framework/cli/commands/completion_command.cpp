#include <fmt/format.h>

#include <charconv>

#include "base/output.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/complete/candidates.h"
#include "run/process/process.h"
#include "store/database/baselines.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

Usage completion_usage() {
  Usage usage{"completion",
              "bash|zsh|fish",
              "Prints a script that lets the shell complete commands, options, kinds, variants, "
              "parameters,\nexperiments, layouts and runs.",
              "assay completion bash > ~/.local/share/bash-completion/completions/assay",
              po::options_description("Options"),
              {}};
  usage.options.add_options()("shell", po::value<std::string>()->value_name("SHELL"),
                              "the shell; the same as the argument");
  usage.positions.add("shell", 1);
  return usage;
}

// Of the default results folder; none where it cannot be read.
std::vector<std::string> stored_names(bool baselines) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::path("results") / "assay.db";
  std::vector<std::string> names;
  if (!std::filesystem::exists(file, ignored)) return names;
  auto database = store::Database::open(file, store::Access::read_only);
  if (!database) return names;
  if (baselines) {
    if (const auto known = store::baselines(*database)) {
      for (const auto& [name, run] : *known) names.push_back(name);
    }
    return names;
  }
  names.emplace_back("latest");
  if (const auto runs = database->runs()) {
    for (const store::RunSummary& run : *runs) names.push_back(run.info.name);
  }
  return names;
}

std::vector<std::string> names_below(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& [name, file] : yaml::documents_below(folder)) names.push_back(name);
  return names;
}

Completion known_here(const run::Installation& installation) {
  Completion known;
  known.commands = command_names();
  known.help = [&](const std::string& command) {
    run::Process::Command help;
    help.arguments = {installation.executable.string(), command, "--help"};
    const auto done = run::capture(help);
    return done && done->ok() ? done->output : std::string();
  };
  known.runs = [] { return stored_names(/*baselines=*/false); };
  known.baselines = [] { return stored_names(/*baselines=*/true); };
  known.experiments = [&] { return names_below(installation.experiments()); };
  known.layouts = [&] { return names_below(installation.configs() / "layouts"); };
  known.models = [&] { return names_below(installation.configs() / "models"); };
  known.catalogue = [] {
    auto context = open_context();
    return context ? std::optional(std::move(context->catalogue)) : std::nullopt;
  };
  return known;
}

// `candidates INDEX WORD…`, which the scripts call.
Result<ExitCode> print_candidates(const Arguments& arguments) {
  std::size_t index = 0;
  const std::string& number = arguments[1];
  const auto read = std::from_chars(number.data(), number.data() + number.size(), index);
  if (read.ec != std::errc()) return ExitCode::bad_input;
  const auto installation = run::find_installation();
  if (!installation) return tl::unexpected(installation.error());
  const Arguments words(arguments.begin() + 2, arguments.end());
  for (const std::string& each : candidates(known_here(*installation), words, index)) {
    print_out("{}\n", each);
  }
  return ExitCode::ok;
}

}  // namespace

Result<ExitCode> completion_command(const Arguments& arguments) {
  if (arguments.size() > 2 && arguments[0] == "candidates") return print_candidates(arguments);
  const auto values = parse(completion_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string shell = text_or(**values, "shell", "");
  const auto script = completion_script(shell);
  if (!script) {
    return fail(ExitCode::bad_input, fmt::format("there is no completion for '{}'", shell),
                "bash, zsh or fish");
  }
  print_out("{}", *script);
  return ExitCode::ok;
}

}  // namespace assay::cli
