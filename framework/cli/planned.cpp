#include "cli/planned.h"

#include "base/text.h"
#include "cli/metrics.h"
#include "config/diagnostics.h"
#include "report/report.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

// What is wrong with the report whatever the cases are.
std::vector<Diagnostic> objections_to_form(const Session& session, std::string_view text,
                                           const std::string& file) {
  const auto root = yaml::parse(text, file);
  const yaml::Node* report = root ? root->find("report") : nullptr;
  if (report == nullptr) return {};
  report::Vocabulary known;
  known.open = true;
  const yaml::Node* workload = root->find("workload");
  const bool is_known = workload != nullptr && session.catalogue.find("workload", workload->text);
  known.metrics =
      is_known ? metrics_of(session.catalogue, workload->text) : metrics_of_all(session.catalogue);
  known.layouts = session.installation.configs() / "layouts";
  return report::check(*report, known);
}

std::vector<std::string> names_set(const config::Override& given) {
  std::vector<std::string> names;
  for (const std::string& setting : given.settings) {
    names.emplace_back(trim(setting.substr(0, setting.find('='))));
  }
  return names;
}

tl::unexpected<Error> with_report(const Error& error, const Session& session, std::string_view text,
                                  const std::string& file) {
  config::Diagnostics all(file);
  all.add(error);
  all.add({error.exit_code, objections_to_form(session, text, file)});
  Error merged = all.take();
  merged.exit_code = error.exit_code;
  return tl::unexpected(std::move(merged));
}

}  // namespace

Result<Planned> plan_text(const Session& session, std::string_view text, const std::string& file,
                          const config::Environment& environment, const config::Override& given) {
  auto experiment = config::parse_experiment(text, file, environment, given);
  if (!experiment) return with_report(experiment.error(), session, text, file);
  auto plan = config::expand(*experiment);
  if (!plan) return with_report(plan.error(), session, text, file);
  if (const auto checked = check_report(session, *experiment, *plan, given); !checked) {
    return tl::unexpected(checked.error());
  }
  return Planned{std::move(*experiment), std::move(*plan)};
}

Result<Planned> plan_file(const Session& session, const std::string& file,
                          const config::Override& given) {
  const auto text = read_file(file, yaml::Limits{}.bytes);
  if (!text) return tl::unexpected(text.error());
  return plan_text(session, *text, file, session.environment(), given);
}

Result<void> check_report(const Session& session, const config::Experiment& experiment,
                          const config::Plan& plan, const config::Override& given) {
  if (experiment.report.is_null()) return {};
  report::Vocabulary known;
  for (const config::Plan::Column& column : plan.columns()) {
    known.axes.push_back(column.name);
    known.add_values(column.name, column.values);
  }
  // What --set and --filter left out may still be named.
  report::add_written_values(experiment.text, known);
  known.metrics = metrics_of(session.catalogue, experiment.workload);
  known.passes = experiment.passes;
  known.layouts = session.installation.configs() / "layouts";
  auto diagnostics = report::check(experiment.report, known);
  if (diagnostics.empty()) {
    diagnostics =
        report::open_axes(experiment.report, known, plan, experiment.passes, names_set(given));
  }
  if (diagnostics.empty()) return {};
  return tl::unexpected(Error{ExitCode::bad_input, std::move(diagnostics)});
}

}  // namespace assay::cli
  report::add_passes(written_passes(session.catalogue, experiment.text), known);
