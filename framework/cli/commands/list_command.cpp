#include <fmt/format.h>

#include <algorithm>

#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "config/suite.h"
#include "store/database/baselines.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

const std::vector<std::string> topics = {"plugins", "experiments", "layouts",
                                         "models",  "runs",        "baselines"};

Usage list_usage() {
  Usage usage{
      "list",
      "[plugins|experiments|layouts|models|runs|baselines|KIND]",
      "Lists the plugins of every kind or of one, the experiments and suites, the layouts of "
      "reports,\nthe models, the runs or the baselines.",
      "assay list attention",
      po::options_description("Options"),
      {}};
  add_results_option(usage.options);
  usage.options.add_options()("topic", po::value<std::string>()->value_name("WHAT"),
                              "what to list; the same as the argument");
  add_plugin_option(usage.options);
  usage.positions.add("topic", 1);
  return usage;
}

void print_kind(const catalogue::Catalogue& catalogue, std::string_view kind) {
  const auto plugins = catalogue.of_kind(kind);
  std::size_t width = 0;
  for (const auto* plugin : plugins) width = std::max(width, plugin->name.size());
  print_out("{}\n", kind);
  for (const auto* plugin : plugins) {
    print_out("  {:<{}}  {}{}\n", plugin->name, width, plugin->description,
              plugin->external() ? " (external)" : "");
  }
}

void print_experiments(const std::filesystem::path& folder) {
  for (const std::string& name : yaml::names_in(folder)) {
    const auto text = read_file((folder / (name + ".yaml")).string(), yaml::Limits{}.bytes);
    print_out("{}{}\n", name, text && config::is_suite(*text) ? "  (suite)" : "");
  }
}

Result<ExitCode> print_runs(const po::variables_map& values) {
  auto database = open_database(values, store::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  const auto runs = database->runs();
  if (!runs) return tl::unexpected(runs.error());
  const auto baselines = store::baselines(*database);
  if (!baselines) return tl::unexpected(baselines.error());
  const auto damaged = database->damaged_runs();
  if (!damaged) return tl::unexpected(damaged.error());
  for (const store::DamagedRun& run : *damaged) {
    print_error("assay: the run '{}' is damaged and left out: {}; the others are whole\n",
                printable_line(run.name), printable_line(run.why));
  }
  for (const store::RunSummary& run : *runs) {
    std::vector<std::string> counts;
    for (const auto& [outcome, count] : run.outcomes) {
      counts.push_back(fmt::format("{} {}", count, to_text(outcome)));
    }
    const std::string kept = store::baseline_name(run.info);
    const auto baseline = baselines->find(kept);
    const bool is_baseline = baseline != baselines->end() && baseline->second == run.info.name;
    print_out("{:<28} {}  {}{}{}\n", printable_line(run.info.name), run.info.started,
              join(counts, ", "), run.info.finished.empty() ? "  (not finished)" : "",
              is_baseline ? fmt::format("  (baseline {})", kept) : "");
  }
  return ExitCode::ok;
}

Result<ExitCode> print_baselines(const po::variables_map& values) {
  auto database = open_database(values, store::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  const auto known = store::baselines(*database);
  if (!known) return tl::unexpected(known.error());
  for (const auto& [name, run] : *known) print_out("{:<20} {}\n", name, run);
  return ExitCode::ok;
}

}  // namespace

Result<ExitCode> list_command(const Arguments& arguments) {
  const auto values = parse(list_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string topic = text_or(**values, "topic", "plugins");
  if (topic == "runs") return print_runs(**values);
  if (topic == "baselines") return print_baselines(**values);
  const bool kind = catalogue::is_kind(topic);
  if (!kind && std::find(topics.begin(), topics.end(), topic) == topics.end()) {
    std::vector<std::string> known = topics;
    known.insert(known.end(), std::begin(catalogue::kinds), std::end(catalogue::kinds));
    return fail(ExitCode::bad_input,
                fmt::format("there is no '{}' to list{}", topic, suggestion(topic, known)));
  }
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  if (topic == "layouts") {
    for (const auto& [name, file] :
         yaml::documents_below(context->installation.configs() / "layouts")) {
      print_out("{}\n", name);
    }
  } else if (topic == "models") {
    print_out("{}\n", join(yaml::names_in(context->installation.configs() / "models"), "\n"));
  } else if (topic == "experiments") {
    print_experiments(context->installation.experiments());
  } else {
    for (const std::string_view each : catalogue::kinds) {
      if (!kind || each == topic) print_kind(context->catalogue, each);
    }
  }
  return ExitCode::ok;
}

}  // namespace assay::cli
