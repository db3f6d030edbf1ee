// Reads, checks and expands an experiment and checks its report.
//
// An input is the file, then, each after a zero byte, the values of --set and of --filter (these
// begin with '?').

#include "base/text.h"
#include "config/matrix.h"
#include "config/test_catalogue.h"
#include "report/page/report.h"
#include "target.h"

namespace assay::fuzz {
namespace {

constexpr std::size_t most_cases = 20'000;  // larger plans cost time and test no more

config::Override override_of(const std::vector<std::string>& parts) {
  config::Override given;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].starts_with('?')) {
      given.filters.push_back(parts[i].substr(1));
    } else {
      given.settings.push_back(parts[i]);
    }
  }
  return given;
}

void check_report(const config::Written& written, const config::Experiment& experiment,
                  const config::Plan& plan, const config::Environment& environment) {
  if (experiment.report.is_null()) return;
  report::Vocabulary known;
  for (const config::Plan::Column& column : plan.columns()) {
    known.axes.push_back(column.name);
    known.add_values(column.name, column.values);
  }
  report::add_written_values(written, known);
  known.metrics = catalogue::common_metrics();
  known.passes = experiment.passes;
  known.layouts = environment.configs / "layouts";
  const auto diagnostics = report::check(experiment.report, known);
  if (!diagnostics.empty()) require_explained({ExitCode::bad_input, diagnostics});
}

void require_sound(const config::Experiment& experiment, const config::Plan& plan) {
  require(plan.size() > 0 && plan.size() <= config::count_cases(experiment),
          "a plan has cases, and no more than the matrix");
  for (const std::size_t i : {std::size_t{0}, plan.size() - 1}) {
    require(plan.parameters(i).contains("workload"), "a case has a workload");
  }
  for (const char letter : experiment.name) {
    require(letter != '/' && letter != '.', "an experiment's name can be a folder's");
  }
}

}  // namespace
}  // namespace assay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  static const config::Environment environment = config::test_environment();
  const std::vector<std::string> parts = split(fuzz::text_of(data, size), '\0');
  const auto [written, experiment] =
      config::read_text(parts[0], "fuzz.yaml", environment, fuzz::override_of(parts));
  if (!experiment) {
    fuzz::require_explained(experiment.error());
    return 0;
  }
  if (config::count_cases(*experiment) > fuzz::most_cases) return 0;
  const auto plan = config::expand(*experiment);
  if (!plan) {
    fuzz::require_explained(plan.error());
    return 0;
  }
  fuzz::require_sound(*experiment, *plan);
  fuzz::check_report(written, *experiment, *plan, environment);
  return 0;
}
