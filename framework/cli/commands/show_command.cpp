#include <fmt/format.h>

#include <algorithm>

#include "base/output.h"
#include "base/printable.h"
#include "base/renamed_variants.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "catalogue/compiled.h"
#include "cli/case_choice.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/repeat_case.h"
#include "cli/show/case_page.h"
#include "cli/show/run_page.h"
#include "run/process/environment.h"
#include "run/process/installation.h"
#include "run/workers/worker.h"
#include "store/records/identity.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

// What is shown as it is written, beside the kinds of plugins.
constexpr std::string_view document_kinds[] = {"experiment", "layout", "model"};

Usage show_usage() {
  Usage usage{"show",
              "KIND/NAME | experiment/NAME | layout/NAME | model/NAME | RUN[/CASE]",
              "Shows everything known of one plugin, experiment, layout, model or run, or of one "
              "case of a run with the "
              "command that\nmeasures it again. CASE is a number, the beginning of a key (6 digits "
              "or more) or an expression;\none that matches several cases lists them.",
              "assay show attention/naive\n  assay show quickstart-1/3\n"
              "  assay show latest --case 'outcome == oom && seq_len > 1024'",
              po::options_description("Options"),
              {}};
  add_results_option(usage.options);
  usage.options.add_options()("what", po::value<std::string>()->value_name("NAME"),
                              "what to show; the same as the argument")(
      "case", po::value<std::string>()->value_name("CASE"), "the case of a run");
  add_plugin_option(usage.options);
  usage.positions.add("what", 1);
  return usage;
}

std::string bounds(const ParameterInfo& parameter) {
  if (const std::string allowed = catalogue::allowed_in_words(parameter); !allowed.empty()) {
    return "one of " + allowed;
  }
  if (!parameter.config_folder.empty()) {
    std::vector<std::string> fields;
    for (const ParameterInfo& field : parameter.fields) {
      const bool optional = !std::holds_alternative<std::monostate>(field.default_value);
      fields.push_back(field.name + (optional ? " (optional)" : ""));
    }
    return "a name in configs/" + parameter.config_folder + ", or a .yaml file" +
           (fields.empty() ? "" : " of " + join(fields, ", "));
  }
  if (parameter.minimum && parameter.maximum) {
    return fmt::format("{:g} to {:g}", *parameter.minimum, *parameter.maximum);
  }
  if (parameter.minimum) return fmt::format("at least {:g}", *parameter.minimum);
  if (parameter.maximum) return fmt::format("at most {:g}", *parameter.maximum);
  return "any";
}

// title: "" goes on with the list above.
void print_metrics(const char* title, const std::vector<MetricInfo>& metrics) {
  if (*title != '\0' && !metrics.empty()) print_out("  {}:\n", title);
  for (const MetricInfo& metric : metrics) {
    const std::string unit = metric.kind == MetricKind::text ? "word" : metric.unit;
    print_out("    {}{}: {}{}\n", metric.name, unit.empty() ? "" : " [" + unit + "]",
              metric.description, metric.formula.empty() ? "" : " (" + metric.formula + ")");
  }
}

void print_plugin(const catalogue::PluginInfo& plugin) {
  print_out("{}/{}: {}\n  file: {}\n", plugin.kind, plugin.name, plugin.description, plugin.file);
  if (plugin.external()) print_out("  runs: {}\n", join(plugin.command, " "));
  if (!plugin.devices.empty()) print_out("  runs on: {}\n", join(plugin.devices, ", "));
  if (!plugin.passes.empty()) {
    print_out("  passes: {} (default: {})\n  uses: {}\n  clock on a GPU: {}\n",
              join(plugin.passes, ", "), join(plugin.default_passes, ", "), join(plugin.uses, ", "),
              plugin.default_clock);
  }
  if (!plugin.unclocked.empty()) {
    print_out("  not timed, run once and recorded: {}\n", join(plugin.unclocked, ", "));
  }
  if (!plugin.parameters.empty()) {
    print_out("  {}:\n", plugin.kind == "workload" ? "parameters" : "options");
  }
  for (const ParameterInfo& parameter : plugin.parameters) {
    const std::string otherwise = parameter.default_value.index() == 0
                                      ? std::string("required")
                                      : "default " + to_text(parameter.default_value);
    print_out("    {}: {} ({}; {}{})\n", parameter.name, parameter.description, bounds(parameter),
              otherwise, parameter.compiled ? "; compiled in" : "");
  }
  if (plugin.kind == "workload") print_metrics("metrics", catalogue::common_metrics());
  if (plugin.kind == "workload") print_metrics("", plugin.metrics);
  if (plugin.kind == "observer") {
    print_metrics("metrics beside observed_time", plugin.metrics);
    print_out("  used by: observe: [{}] in an experiment\n", plugin.name);
  }
  if (!plugin.memory_estimate.empty())
    print_out("  memory estimate: {} bytes\n", plugin.memory_estimate);
  if (!plugin.look_memory_estimate.empty())
    print_out("  memory of a look, estimate: {} bytes\n", plugin.look_memory_estimate);
}

// `choice`: the text after the run's slash, or of --case.
Result<ExitCode> show_cases(const po::variables_map& values, const store::Run& run,
                            const std::string& choice) {
  const auto cases = choose_cases(run, choice);
  if (!cases) return tl::unexpected(cases.error());
  if (cases->size() > 1) {
    print_out("'{}' matches {} cases of {}:\n", choice, cases->size(), run.info.name);
    print_out("{}", case_table(*cases));
    return ExitCode::ok;
  }
  const store::CaseResult& result = *cases->front();
  print_out("{}", case_page(run, result));
  if (store::session_of(run.info, result.session).experiment_text.empty()) return ExitCode::ok;
  const RepeatedCase again =
      repeat_case(run, result, text_or(values, "results", ""), run::variable_names(environ));
  print_out("  again\n    {}\n", shell_command(again.words));
  for (const std::string& note : again.notes) print_out("    # {}\n", printable(note));
  return ExitCode::ok;
}

// Of the documents of this kind.
std::filesystem::path folder_of(const run::Installation& installation, const std::string& kind) {
  return kind == "experiment" ? installation.experiments() : installation.configs() / (kind + "s");
}

// "`assay show experiment/quickstart` or `assay show layout/quickstart`": what has this name, which
// stands without a kind; "": nothing.
std::string shown_with_kind(const std::string& name, const std::vector<std::string>& plugins) {
  std::vector<std::string> kinds;
  if (const auto installation = run::find_installation()) {
    for (const std::string_view kind : document_kinds) {
      const auto known = yaml::documents_below(folder_of(*installation, std::string(kind)));
      if (known.contains(name)) kinds.emplace_back(kind);
    }
  }
  if (kinds.empty()) {
    if (const auto context = open_context(plugins)) {
      for (const catalogue::PluginInfo& plugin : context->catalogue.plugins) {
        if (plugin.name == name) kinds.push_back(plugin.kind);
      }
    }
  }
  std::vector<std::string> commands;
  for (const std::string& kind : kinds) {
    commands.push_back(fmt::format("`assay show {}/{}`", kind, name));
  }
  return join(commands, " or ");
}

// The error for `what`, which no run matches: it may be a NAME that lacks its kind, and NAME/… a
// misspelled KIND/NAME.
tl::unexpected<Error> not_a_run(const std::string& what, const Error& error,
                                const std::vector<std::string>& plugins) {
  const std::size_t slash = what.find('/');
  if (slash == std::string::npos) {
    const std::string commands = shown_with_kind(what, plugins);
    if (commands.empty()) return tl::unexpected(error);
    const std::string& hint = error.diagnostics.front().hint;
    return fail(error.exit_code, fmt::format("there is no run '{}'", what),
                (hint.starts_with("did you mean") ? hint + " " : "") + commands + " shows it");
  }
  const std::string kind = what.substr(0, slash), name = what.substr(slash + 1);
  std::vector<std::string> known(std::begin(catalogue::kinds), std::end(catalogue::kinds));
  known.insert(known.end(), std::begin(document_kinds), std::end(document_kinds));
  const bool is_case = name.find_first_not_of("0123456789abcdef") == std::string::npos ||
                       name.find_first_of("=<>") != std::string::npos;
  if (is_case && !nearest(kind, known)) return tl::unexpected(error);
  return fail(ExitCode::bad_input,
              fmt::format("unknown kind '{}'{}", kind, suggestion(kind, known)),
              "no run has this name either");
}

// Prints a shipped document of this name.
Result<ExitCode> show_document(const run::Installation& installation, const std::string& kind,
                               const std::string& name) {
  const auto known = yaml::documents_below(folder_of(installation, kind));
  const auto found = known.find(name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const auto& [each, file] : known) names.push_back(each);
    return fail(ExitCode::bad_input,
                fmt::format("there is no {} '{}'{}", kind, name, suggestion(name, names)));
  }
  const auto text = read_file(found->second.string());
  if (!text) return tl::unexpected(text.error());
  print_out("# {}\n{}", found->second.string(), *text);
  return ExitCode::ok;
}

Result<ExitCode> show_run(const po::variables_map& values, const std::string& what) {
  auto database = open_database(values, store::Access::read_only);
  if (!database) {
    std::error_code ignored;
    const bool there = std::filesystem::exists(database_file(values), ignored);
    return there ? tl::unexpected(database.error())
                 : not_a_run(what, database.error(), texts(values, "plugin"));
  }
  const std::size_t slash = what.find('/');
  const auto name = run_name(*database, what.substr(0, slash));
  if (!name) return tl::unexpected(name.error());
  const auto run = database->load_run(*name);
  if (!run && run.error().exit_code != ExitCode::bad_input) return tl::unexpected(run.error());
  if (!run) return not_a_run(what, run.error(), texts(values, "plugin"));
  std::string choice = text_or(values, "case", "");
  if (slash != std::string::npos) {
    if (!choice.empty()) {
      return fail(ExitCode::bad_input, "a case is named twice: after the slash and with --case");
    }
    choice = what.substr(slash + 1);
    if (choice.empty()) return fail(ExitCode::bad_input, "no case is named after the slash");
  }
  if (!choice.empty()) return show_cases(values, *run, choice);
  print_out("{}", run_page(*run));
  return ExitCode::ok;
}

}  // namespace

Result<ExitCode> show_command(const Arguments& arguments) {
  const auto values = parse(show_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string what = text_or(**values, "what", "");
  if (what.empty()) return fail(ExitCode::bad_input, "say what to show", "`assay list` lists it");
  const std::string kind = what.substr(0, what.find('/'));
  const std::string name = what.size() > kind.size() ? what.substr(kind.size() + 1) : "";
  if (std::ranges::count(document_kinds, kind) > 0) {
    const auto installation = run::find_installation();
    if (!installation) return tl::unexpected(installation.error());
    return show_document(*installation, kind, name);
  }
  if (!catalogue::is_kind(kind)) return show_run(**values, what);
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  const catalogue::PluginInfo* plugin = context->catalogue.find(kind, name);
  if (plugin == nullptr) {
    std::vector<std::string> known;
    for (const auto* other : context->catalogue.of_kind(kind)) known.push_back(other->name);
    return fail(ExitCode::bad_input, fmt::format("there is no {} '{}'{}", kind, name,
                                                 variant_suggestion(kind, name, known)));
  }
  print_plugin(*plugin);
  return ExitCode::ok;
}

}  // namespace assay::cli
