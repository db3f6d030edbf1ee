#pragma once

// report/page checks a spec, renders its blocks through the other folders of report, and adds the
// opening and the default report. It depends on all of them. Start with build().

#include <assay/metric.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/experiment.h"
#include "report/data/ceilings.h"
#include "report/data/source.h"
#include "report/document/document.h"
#include "report/document/markdown.h"
#include "report/spec/spec.h"
#include "store/records/records.h"
#include "yaml/document.h"

// Reports are rendered from stored runs alone. docs/reports.md describes the grammar of a spec.
namespace assay::report {

struct Inputs {
  std::vector<Source> sources;           // `source: N` of a column counts from 0
  yaml::Node spec;                       // null: the default report
  std::vector<MetricInfo> metrics;       // known besides those of the runs
  std::vector<std::string> passes = {};  // likewise
  // Ceilings of the machine a source was measured on, called if the spec needs them; empty: none.
  std::function<Result<Ceilings>(const store::Run& source)> ceilings = {};
  std::filesystem::path folder;   // for plots; empty: no plots
  std::filesystem::path layouts;  // folder of shipped layouts, or of their folders; empty: none
  // Holds the runs' folders with the files that cases have left; empty: no links to them.
  std::filesystem::path results = {};
  // Where pictures go below `folder`, and what their paths are relative to: a chapter's.
  std::filesystem::path pictures = {};
  // Begins the names of picture files, so that documents in one folder keep their own.
  std::string picture_prefix = {};
  bool with_context = true;  // adds title, question, environment and experiment text
};

// A null spec asks for the default report and has no blocks. Errors list every problem, judged
// against `known`: an unknown block, key, column, axis, value, metric, pass, statistic, unit,
// format or layout, a unit that does not suit its metric, an expression that mixes units.
Result<ReportSpec> read_spec(const yaml::Node& spec, const Vocabulary& known);
std::vector<Diagnostic> check(const yaml::Node& spec, const Vocabulary& known);

// Reports each block that would show several results of the planned cases in one place. Axes that
// --set names (`overridden`) may stay ambiguous: build() adds them. `presets` as in
// config::Experiment.
std::vector<Diagnostic> ambiguous_axes_of_plan(
    const ReportSpec& spec, const config::Plan& plan, const std::vector<std::string>& passes,
    const std::vector<std::string>& overridden = {},
    const std::map<std::string, nlohmann::json>& presets = {});

// Each adds what `known` lacks.
void add_written_values(const config::Written& written, Vocabulary& known);
void add_passes(const std::vector<std::string>& passes, Vocabulary& known);
// The axes that follow from others: `model.d_model` of these presets, and the counted metrics of
// `known`.
void add_derived_axes(const std::map<std::string, nlohmann::json>& presets, Vocabulary& known);

// Fails with the errors of read_spec() or `ceilings`. The reason replaces a block that cannot be
// rendered and goes to `problems`. Ambiguous axes are added to their block and named below it.
Result<Document> build(const Inputs& inputs);

}  // namespace assay::report
