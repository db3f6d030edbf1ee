#include "cli/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/host_parameters.h"
#include "run/plugins/host_catalogue.h"

namespace assay::cli {

namespace {

// Refuses an unknown device here, so that the message names --device and not a setting.
void check_device(const std::string& name) {
  const std::vector<std::string>& known = config::find_host_parameter("device")->choices;
  if (std::ranges::count(known, name) > 0) return;
  throw po::error(
      fmt::format("--device: there is no device '{}'{}", name, suggestion(name, known)));
}

}  // namespace

Result<Context> open_context(const std::vector<std::string>& more) {
  auto installation = run::find_installation();
  if (!installation) return tl::unexpected(installation.error());
  auto catalogue = run::load_catalogue(*installation, {more.begin(), more.end()});
  if (!catalogue) return tl::unexpected(catalogue.error());
  return Context{std::move(*installation), std::move(*catalogue)};
}

void add_results_option(po::options_description& options) {
  options.add_options()("results", po::value<std::string>()->value_name("FOLDER"),
                        "where results are kept (default: results)");
}

void add_plugin_option(po::options_description& options) {
  options.add_options()(
      "plugin", po::value<std::vector<std::string>>()->value_name("FILE"),
      "add a plugin: a source (.cpp, .cu) or a folder of them, which assay builds first, a library "
      "(.so) or an external variant's descriptor (.yaml); may be repeated");
}

void add_experiment_options(po::options_description& options) {
  options.add_options()("set", po::value<std::vector<std::string>>()->value_name("NAME=YAML"),
                        "replace an axis or a fixed value, such as model=[small]; may be repeated")(
      "filter", po::value<std::vector<std::string>>()->value_name("EXPRESSION"),
      "keep only the cases for which it holds, such as 'seq_len<=256'; may be repeated")(
      "device", po::value<std::string>()->value_name("NAME")->notifier(check_device),
      "cpu or cuda; short for --set device=NAME");
  add_plugin_option(options);
}

void add_external_option(po::options_description& options) {
  options.add_options()("allow-external", po::bool_switch(),
                        "let external variants run their programs on this machine");
}

void add_name_options(po::options_description& options) {
  options.add_options()("name", po::value<std::string>()->value_name("NAME"),
                        "name of the new run (default: the experiment's with a number)")(
      "save-baseline", po::value<std::string>()->value_name("NAME"),
      "keep the run as this baseline, in place of an earlier one")(
      "baseline", po::value<std::string>()->value_name("NAME"),
      "say how the results have changed since this baseline");
}

Result<void> check_baseline_name(const std::string& name) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) return {};
  return fail(ExitCode::bad_input, fmt::format("'{}' is no name for a baseline", name),
              "use letters, digits, '.', '_' and '-'");
}

std::filesystem::path results_folder(const po::variables_map& values) {
  return text_or(values, "results", "results");
}

std::filesystem::path database_file(const po::variables_map& values) {
  return results_folder(values) / "assay.db";
}

Result<store::Database> open_database(const po::variables_map& values, store::Access access) {
  const std::filesystem::path file = database_file(values);
  std::error_code ignored;
  if (access == store::Access::read_only && !std::filesystem::exists(file, ignored)) {
    return fail(ExitCode::results_unreadable, file.string() + " does not exist",
                "run an experiment first, or name the folder with --results");
  }
  return store::Database::open(file, access);
}

config::Override overrides(const po::variables_map& values) {
  config::Override given{texts(values, "set"), texts(values, "filter")};
  if (values.count("device") > 0) {
    given.settings.push_back("device=" + values["device"].as<std::string>());
  }
  return given;
}

Result<std::string> run_name(store::Database& database, const std::string& asked) {
  if (asked != "latest") return asked;
  auto latest = database.latest_run();
  if (!latest) return tl::unexpected(latest.error());
  if (!*latest) return fail(ExitCode::bad_input, "there are no runs yet");
  return std::move(**latest);
}

}  // namespace assay::cli
