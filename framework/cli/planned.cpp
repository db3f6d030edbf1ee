#include "cli/planned.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/metrics.h"
#include "config/read/diagnostics.h"
#include "report/page/report.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

// The report's mistakes that do not depend on the cases.
std::vector<Diagnostic> objections_to_form(const Context& context, const config::Written& written) {
  report::Vocabulary known;
  known.open = true;
  known.metrics =
      context.catalogue.find("workload", written.workload)
          ? metrics_of(context.catalogue, written.workload, all_observers(context.catalogue))
          : metrics_of_all(context.catalogue);
  known.layouts = context.installation.configs() / "layouts";
  return report::check(written.report, known);
}

std::vector<std::string> names_set(const config::Override& given) {
  std::vector<std::string> names;
  for (const auto& [name, value] : given.of_chapter.settings) names.push_back(name.text);
  for (const std::string& setting : given.settings) {
    names.push_back(config::name_of_setting(setting));
  }
  return names;
}

tl::unexpected<Error> with_report(const Error& error, const Context& context,
                                  const config::Written& written, const std::string& file) {
  config::Diagnostics all(file);
  all.add(error);
  all.add({error.exit_code, objections_to_form(context, written)});
  Error merged = all.take();
  merged.exit_code = error.exit_code;
  return tl::unexpected(std::move(merged));
}

// A run measures every case on one machine, so `machine` can have only one value.
Result<void> check_machine(const config::Plan& plan, const config::Written& written,
                           const std::string& file) {
  const auto column = plan.column("machine");
  std::vector<std::string> names;
  for (std::size_t index = 0; column && index < plan.size(); ++index) {
    std::string name = to_text(plan.at(index, *column));
    if (!std::ranges::count(names, name)) names.push_back(std::move(name));
  }
  if (names.size() < 2) return {};
  return fail_at(written.machine.line > 0 ? written.machine : SourceLocation{file},
                 fmt::format("machine has {} values ({}), but a run measures on one machine",
                             names.size(), join(names, ", ")),
                 fmt::format("run it on each machine with its own name, `--set machine={}`, and "
                             "report the runs together",
                             names.front()));
}

}  // namespace

Result<std::string> experiment_file(const Context& context, const std::string& named) {
  std::error_code ignored;
  const bool bare = named.find_first_of("/.") == std::string::npos;
  if (!bare || std::filesystem::is_regular_file(named, ignored)) return named;
  const std::filesystem::path folder = context.installation.experiments();
  const std::vector<std::string> shipped = yaml::names_in(folder);
  if (std::ranges::count(shipped, named)) return (folder / (named + ".yaml")).string();
  return fail(ExitCode::bad_input, fmt::format("'{}' is neither a file nor a shipped experiment{}",
                                               named, suggestion(named, shipped)));
}

Result<Planned> plan_document(const Context& context, const yaml::Document& document,
                              std::string_view text, const std::string& file,
                              const config::Environment& environment,
                              const config::Override& given) {
  auto [written, experiment] = config::read_document(document, text, file, environment, given);
  if (!experiment) return with_report(experiment.error(), context, written, file);
  auto plan = config::expand(*experiment);
  if (!plan) return with_report(plan.error(), context, written, file);
  if (const auto checked = check_machine(*plan, written, file); !checked) {
    return tl::unexpected(checked.error());
  }
  Planned planned{std::move(written), std::move(*experiment), std::move(*plan)};
  if (const auto checked = check_report(context, planned, given); !checked) {
    return tl::unexpected(checked.error());
  }
  return planned;
}

Result<Planned> plan_text(const Context& context, std::string_view text, const std::string& file,
                          const config::Environment& environment, const config::Override& given) {
  const auto document = yaml::read(text, file);
  if (!document) return tl::unexpected(document.error());
  return plan_document(context, *document, text, file, environment, given);
}

Result<void> check_report(const Context& context, const Planned& planned,
                          const config::Override& given) {
  const auto& [written, experiment, plan] = planned;
  if (written.report.is_null()) return {};
  report::Vocabulary known;
  for (const config::Plan::Column& column : plan.columns()) {
    known.axes.push_back(column.name);
    known.add_values(column.name, column.values);
  }
  // A report may name values and passes that --set and --filter leave out.
  report::add_written_values(written, known);
  known.metrics = metrics_of(context.catalogue, experiment.workload, observers_of(plan));
  report::add_derived_axes(experiment.presets, known);
  known.passes = experiment.passes;
  report::add_passes(passes_of(context.catalogue, written), known);
  known.layouts = context.installation.configs() / "layouts";
  const auto spec = report::read_spec(written.report, known);
  if (!spec) return tl::unexpected(Error{ExitCode::bad_input, spec.error().diagnostics});
  auto ambiguous = report::ambiguous_axes_of_plan(*spec, plan, experiment.passes, names_set(given),
                                                  experiment.presets);
  if (ambiguous.empty()) return {};
  return tl::unexpected(Error{ExitCode::bad_input, std::move(ambiguous)});
}

}  // namespace assay::cli
