#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/output.h"
#include "base/renamed_variants.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/show/check_report.h"
#include "config/read/value_check.h"
#include "run/cases/machine.h"
#include "run/plugins/check_runner.h"
#include "run/plugins/compiled_options.h"
#include "run/schedule/runner.h"

namespace assay::cli {

namespace {

Usage check_usage() {
  Usage usage{"check",
              "KIND/NAME",
              "Checks one plugin with the conformance suite of its kind: results and gradients "
              "against float64\nover awkward shapes, strides, dtypes and magnitudes; determinism; "
              "memory. A failure names the\nsmallest case that shows it. Compiled options are "
              "checked at every value that --set does not fix.",
              "assay check attention/naive\n"
              "  assay check attention/mine --plugin mine.cpp --device cuda --filter strides",
              po::options_description("Options"),
              {}};
  usage.options.add_options()("what", po::value<std::string>()->value_name("KIND/NAME"),
                              "what to check; the same as the argument")(
      "device", po::value<std::string>()->value_name("NAME"),
      "cpu or cuda (default: cuda where there is a GPU)")(
      "filter", po::value<std::vector<std::string>>()->value_name("CHECK"),
      "only this check; may be repeated")(
      "set", po::value<std::vector<std::string>>()->value_name("NAME=VALUE"),
      "an option of the plugin; may be repeated")("timeout",
                                                  po::value<std::string>()->value_name("DURATION"),
                                                  "how long one case may take (default: 2 min)")(
      "all", po::bool_switch(),
      "also run the checks behind the second one in which the plugin crashes or hangs");
  add_plugin_option(usage.options);
  usage.positions.add("what", 1);
  return usage;
}

Result<const catalogue::PluginInfo*> find_plugin(const catalogue::Catalogue& catalogue,
                                                 const std::string& what) {
  const std::size_t slash = what.find('/');
  const std::string kind = what.substr(0, slash);
  if (!catalogue::is_kind(kind)) {
    const std::vector<std::string> kinds(std::begin(catalogue::kinds), std::end(catalogue::kinds));
    return fail(ExitCode::bad_input,
                fmt::format("there is no kind '{}'{}", kind, suggestion(kind, kinds)));
  }
  const std::string name = slash == std::string::npos ? "" : what.substr(slash + 1);
  const catalogue::PluginInfo* plugin = catalogue.find(kind, name);
  if (plugin == nullptr) {
    std::vector<std::string> known;
    for (const auto* other : catalogue.of_kind(kind)) {
      if (!other->external()) known.push_back(other->name);
    }
    return fail(
        ExitCode::bad_input,
        fmt::format("there is no {} '{}'{}", kind, name, variant_suggestion(kind, name, known)),
        fmt::format("for example `assay check {}/{}`", kind,
                    known.empty() ? "NAME" : known.front()));
  }
  if (plugin->external()) {
    return fail(ExitCode::bad_input,
                fmt::format("{} is external: assay cannot check the results of its program", what));
  }
  return plugin;
}

Result<Value> option_value(const Context& context, const ParameterInfo& option,
                           const std::string& text) {
  const std::string origin = "--set " + option.name;
  const auto node = yaml::parse(text, origin);
  if (!node) return tl::unexpected(node.error());
  const config::Presets presets(context.installation.configs(), ".");
  config::Diagnostics diagnostics(origin);
  const std::map<std::string, nlohmann::json> no_other_configs;
  config::ValueChecker checker(presets, diagnostics, no_other_configs);
  const auto value = checker.check(option.name, *node, option);
  if (!value) return tl::unexpected(diagnostics.take());
  return *value;
}

Result<store::Parameters> plugin_options(const Context& context,
                                         const catalogue::PluginInfo& plugin,
                                         const std::vector<std::string>& settings) {
  store::Parameters options;
  std::vector<std::string> names;
  for (const ParameterInfo& option : plugin.parameters) {
    options[option.name] = option.default_value;
    names.push_back(option.name);
  }
  if (plugin.kind == "workload" && !settings.empty()) {
    return fail(ExitCode::bad_input, "--set does not apply to workloads",
                "the suite chooses small parameters itself");
  }
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return fail(ExitCode::bad_input, fmt::format("--set {} has no '='", setting),
                  "write --set NAME=VALUE");
    }
    const std::string name(trim(setting.substr(0, equals)));
    const auto option = std::find_if(plugin.parameters.begin(), plugin.parameters.end(),
                                     [&](const ParameterInfo& each) { return each.name == name; });
    if (option == plugin.parameters.end()) {
      return fail(ExitCode::bad_input, fmt::format("{}/{} has no option '{}'{}", plugin.kind,
                                                   plugin.name, name, suggestion(name, names)));
    }
    auto value = option_value(context, *option, setting.substr(equals + 1));
    if (!value) return tl::unexpected(value.error());
    options[name] = std::move(*value);
  }
  for (const auto& [name, value] : options) {
    if (value.index() == 0 && plugin.kind != "workload") {
      return fail(ExitCode::bad_input, fmt::format("option '{}' has no default", name),
                  fmt::format("give it with --set {}=VALUE", name));
    }
  }
  if (plugin.kind == "workload") options.clear();
  return options;
}

Result<std::string> device_name(const Context& context, const po::variables_map& values) {
  const std::string asked = text_or(values, "device", "");
  if (asked == "cpu" || asked == "cuda") return asked;
  if (asked.empty()) {
    const bool usable = context.catalogue.uses_cuda() && !run::probe_machine().gpus.empty();
    return std::string(usable ? "cuda" : "cpu");
  }
  return fail(ExitCode::bad_input, fmt::format("there is no device '{}'", asked), "cpu or cuda");
}

Result<double> case_limit_s(const po::variables_map& values) {
  auto limit = parse_duration(text_or(values, "timeout", "2 min"));
  if (limit && !(*limit > 0)) return fail(ExitCode::bad_input, "--timeout must be above 0 s");
  return limit;
}

// The values of compiled options to check: all, or those that --set names.
std::vector<catalogue::CompiledValues> values_to_check(const catalogue::PluginInfo& plugin,
                                                       const store::Parameters& options,
                                                       const std::vector<std::string>& settings) {
  std::vector<catalogue::CompiledValues> all = catalogue::all_compiled_values(plugin);
  for (const std::string& setting : settings) {
    const std::string name(trim(setting.substr(0, setting.find('='))));
    std::erase_if(all, [&](const catalogue::CompiledValues& values) {
      const auto value = values.find(name);
      return value != values.end() && value->second != options.at(name);
    });
  }
  return all;
}

// Checks a plugin's libraries, one after the other.
class PluginCheck {
 public:
  PluginCheck(const Context& context, const catalogue::PluginInfo& plugin,
              wire::CheckRequest request, double limit_s, std::size_t most_ends)
      : context_(context),
        plugin_(plugin),
        request_(std::move(request)),
        limit_s_(limit_s),
        most_ends_(most_ends) {}

  Result<ExitCode> run(const std::vector<catalogue::CompiledValues>& all) {
    const auto own = catalogue::built_with(plugin_.parameters);
    std::vector<run::CompiledNeed> needs;
    for (const auto& values : all) {
      if (values != own) needs.push_back({&plugin_, values});
    }
    const auto built = needs.empty() ? run::CompiledLibraries()
                                     : run::build_compiled(context_.installation, needs);
    for (const auto& values : all) {
      if (values == own) {
        if (auto done = check(values, plugin_.file); !done) return tl::unexpected(done.error());
        continue;
      }
      const run::CompiledLibrary& library = *built.find(plugin_, values);
      if (library.file.empty()) {
        print_out("{}\n  not checked: {}\n", title(values), library.reason);
        failed_ = failed_ || library.outcome == Outcome::error;
      } else if (auto done = check(values, library.file); !done) {
        return tl::unexpected(done.error());
      }
    }
    if (failed_) return ExitCode::some_case_not_ok;
    if (applied_) return ExitCode::ok;
    return fail(ExitCode::machine_lacks, fmt::format("no check of {} applies", title({})),
                "see the reasons above, or choose another device with --device");
  }

 private:
  std::string title(const catalogue::CompiledValues& values) const {
    return fmt::format("{}/{} on {}{}{}", plugin_.kind, plugin_.name, request_.device,
                       values.empty() ? "" : ", ", catalogue::to_text(values));
  }

  Result<void> check(const catalogue::CompiledValues& values, const std::string& file) {
    wire::CheckRequest request = request_;
    for (const auto& [name, value] : values) {
      if (plugin_.kind != "workload") request.options[name] = value;
    }
    request.plugin_files = {file};
    CheckReport report(title(values), ::isatty(STDERR_FILENO) != 0);
    const run::CheckListener listener = {
        [&](const wire::CheckSuite& suite) { report.started(suite); },
        [&](const wire::CheckBegins& begins) { report.doing(begins); },
        [&](const wire::CheckResult& result) { report.finished(result); },
        [&](const wire::CheckResult& result, const run::WorkerEnd& end) {
          report.ended(result, end);
        },
        [&](const std::vector<std::string>& checks) { report.left(checks); }};
    const auto done =
        run::run_checks(context_.installation, request, limit_s_, most_ends_, listener);
    if (!done) return tl::unexpected(done.error());
    report.conclude();
    failed_ = failed_ || report.failed();
    applied_ = applied_ || report.applied();
    return {};
  }

  const Context& context_;
  const catalogue::PluginInfo& plugin_;
  wire::CheckRequest request_;
  double limit_s_;
  std::size_t most_ends_;
  bool failed_ = false;
  bool applied_ = false;
};

Result<ExitCode> check_plugin(const Context& context, const catalogue::PluginInfo& plugin,
                              const po::variables_map& values) {
  const auto settings = texts(values, "set");
  const auto options = plugin_options(context, plugin, settings);
  if (!options) return tl::unexpected(options.error());
  const auto device = device_name(context, values);
  if (!device) return tl::unexpected(device.error());
  const auto limit = case_limit_s(values);
  if (!limit) return tl::unexpected(limit.error());

  wire::CheckRequest request;
  request.kind = plugin.kind;
  request.name = plugin.name;
  request.device = *device;
  request.options = *options;
  request.checks = texts(values, "filter");
  constexpr std::size_t enough = 2;  // a plugin that hangs costs --timeout each time
  const bool all = values["all"].as<bool>();
  const std::size_t most_ends = all ? std::numeric_limits<std::size_t>::max() : enough;
  return PluginCheck(context, plugin, std::move(request), *limit, most_ends)
      .run(values_to_check(plugin, *options, settings));
}

}  // namespace

Result<ExitCode> check_command(const Arguments& arguments) {
  const auto values = parse(check_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string what = text_or(**values, "what", "");
  if (what.empty()) {
    return fail(ExitCode::bad_input, "say what to check",
                "for example `assay check attention/naive`");
  }
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  const auto plugin = find_plugin(context->catalogue, what);
  if (!plugin) return tl::unexpected(plugin.error());
  return check_plugin(*context, **plugin, **values);
}

}  // namespace assay::cli
