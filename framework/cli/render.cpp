#include "cli/render.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/ceilings.h"
#include "cli/metrics.h"
#include "cli/outcome_summary.h"
#include "report/report.h"
#include "yaml/document.h"

namespace assay::cli {

namespace {

Result<yaml::Node> report_of_layout(const std::filesystem::path& layouts, const std::string& name) {
  const bool is_path = name.ends_with(".yaml");
  auto node = yaml::parse_file(is_path ? name : (layouts / (name + ".yaml")).string());
  if (!node) return node;
  const yaml::Node* report = node->find("report");
  return report == nullptr ? *node : *report;
}

// An experiment that was imported without its text has no report of its own.
Result<yaml::Node> report_of_experiment(const store::RunInfo& info) {
  if (info.experiment_text.empty()) return yaml::Node{};
  const auto node = yaml::parse(info.experiment_text, info.experiment_file);
  if (!node) return tl::unexpected(node.error());
  const yaml::Node* report = node->find("report");
  return report == nullptr ? yaml::Node{} : *report;
}

}  // namespace

Result<Rendered> render_report(const Session& session, store::Database& database,
                               const std::filesystem::path& results,
                               const std::vector<std::string>& runs,
                               const std::optional<std::string>& layout,
                               const std::optional<std::string>& output,
                               const std::vector<std::string>& ceilings) {
  std::vector<store::Run> loaded;
  for (const std::string& name : runs) {
    auto run = database.load_run(name);
    if (!run) return tl::unexpected(run.error());
    loaded.push_back(std::move(*run));
  }
  report::Inputs inputs;
  for (const store::Run& run : loaded) inputs.sources.push_back(&run);
  inputs.layouts = session.installation.configs() / "layouts";
  auto spec = layout ? report_of_layout(inputs.layouts, *layout)
                     : report_of_experiment(loaded.front().info);
  if (!spec) return tl::unexpected(spec.error());
  inputs.spec = std::move(*spec);
  inputs.metrics = metrics_of_all(session.catalogue);
  inputs.ceilings = [&](const store::Run& source) {
    return ceilings.empty() ? ceilings_of_machine(database, source.info.machine)
                            : ceilings_named(database, ceilings);
  };

  Rendered rendered;
  rendered.file = output ? std::filesystem::path(*output) : results / runs.front() / "report.md";
  inputs.folder = rendered.file.has_parent_path() ? rendered.file.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(inputs.folder, error);
  if (error) {
    return fail(ExitCode::results_unreadable,
                fmt::format("{} cannot be made: {}", inputs.folder.string(), error.message()));
  }
  const auto document = report::build(inputs);
  if (!document) return tl::unexpected(document.error());
  const auto markdown = report::to_markdown(*document);
  if (!markdown) return tl::unexpected(markdown.error());
  if (auto written = write_file(rendered.file.string(), *markdown); !written) {
    written.error().exit_code = ExitCode::results_unreadable;
    return tl::unexpected(written.error());
  }
  rendered.tables = report::to_terminal(*document, 0);
  rendered.summary = outcome_summary(loaded);
  return rendered;
}

}  // namespace assay::cli
