#pragma once

// report/page is the entry to reports: it checks a spec, joins what the other folders of report
// make of its blocks, and adds the opening and the default. It depends on all of them. Start with
// build().

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

// Reports are rendered from stored runs and nothing else. The grammar of a spec is described, with
// each construct's result, in docs/reports.md.
namespace assay::report {

struct Inputs {
  std::vector<Source> sources;           // `source: N` of a column counts them from 0
  yaml::Node spec;                       // null: the default report
  std::vector<MetricInfo> metrics;       // known besides those the runs hold
  std::vector<std::string> passes = {};  // and passes
  // The ceilings of the machine that a source was measured on; asked for where a figure is a share
  // of one. Empty: none are known.
  std::function<Result<Ceilings>(const store::Run& source)> ceilings = {};
  std::filesystem::path folder;   // of the report: plots are written here; empty: no plots
  std::filesystem::path layouts;  // folder of the layouts a spec may name; empty: none
  bool with_context = true;       // title, question, environment and experiment text
};

// A spec that can be rendered: null asks for the default report, and has no blocks. Errors tell
// everything that is wrong, judged by what `known` says exists: unknown block, key, column, axis,
// value of an axis, metric, pass, statistic, unit, format or layout, a unit that a metric cannot be
// shown in, an expression that mixes units.
Result<ReportSpec> read_spec(const yaml::Node& spec, const Vocabulary& known);
// Those errors, none where it can be rendered.
std::vector<Diagnostic> check(const yaml::Node& spec, const Vocabulary& known);

// Blocks of a spec that would show several results of these cases in one place, with what would be
// right. What --set has named (`overridden`) may be left ambiguous: `build` adds it.
std::vector<Diagnostic> ambiguous_axes_of_plan(const ReportSpec& spec, const config::Plan& plan,
                                               const std::vector<std::string>& passes,
                                               const std::vector<std::string>& overridden = {});

// What an experiment's text gives its axes, and passes: those that are not known yet.
void add_written_values(const config::Written& written, Vocabulary& known);
void add_passes(const std::vector<std::string>& passes, Vocabulary& known);

// Errors: whatever `read_spec` finds. A block that cannot be made otherwise is none: the document
// says why in its place, and in `problems`. Where several results belong to one place of a block,
// the axes that tell them apart are added to it and named below it.
Result<Document> build(const Inputs& inputs);

}  // namespace assay::report
