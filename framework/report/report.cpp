#include "report/report.h"

#include <algorithm>

#include "report/blocks.h"
#include "report/context.h"
#include "report/default_spec.h"
#include "report/read_blocks.h"
#include "report/records.h"
#include "report/vocabulary.h"

namespace assay::report {
namespace {

Result<ReportSpec> read_spec(const yaml::Node& node, const Vocabulary& known) {
  Error error;
  Reader reader(known, error.diagnostics);
  ReportSpec spec = read_report(reader, node);
  if (!error.diagnostics.empty()) return tl::unexpected(std::move(error));
  return spec;
}

Result<std::vector<Ceilings>> ceilings_of_sources(const Inputs& inputs) {
  std::vector<Ceilings> of_sources;
  for (const store::Run* source : inputs.sources) {
    auto found = inputs.ceilings(*source);
    if (!found) return tl::unexpected(found.error());
    of_sources.push_back(std::move(*found));
  }
  return of_sources;
}

class BlockRenderer {
 public:
  BlockRenderer(const Records& records, const Inputs& inputs)
      : records_(records), inputs_(inputs) {}

  Result<std::vector<Section>> operator()(const HeadingSpec& spec) {
    return std::vector<Section>{Heading{spec.level, spec.text}};
  }
  Result<std::vector<Section>> operator()(const ProseSpec& spec) {
    return std::vector<Section>{Paragraph{spec.text}};
  }
  Result<std::vector<Section>> operator()(const TableSpec& spec) {
    return table_sections(records_, spec);
  }
  Result<std::vector<Section>> operator()(const TextSpec& spec) {
    return text_sections(records_, spec);
  }
  Result<std::vector<Section>> operator()(const PlotSpec& spec) {
    return plot_sections(records_, spec, inputs_.folder, plots_);
  }
  Result<std::vector<Section>> operator()(const TimelineSpec& spec) {
    return timeline_sections(records_, spec, inputs_.folder, timelines_);
  }
  Result<std::vector<Section>> operator()(const FlameSpec& spec) {
    return flame_sections(records_, spec, inputs_.folder, flames_);
  }
  Result<std::vector<Section>> operator()(const FindingsSpec& spec) {
    return findings_sections(records_, spec);
  }

 private:
  const Records& records_;
  const Inputs& inputs_;
  int plots_ = 0;
  int timelines_ = 0;
  int flames_ = 0;
};

}  // namespace

std::vector<Diagnostic> check(const yaml::Node& spec, const Vocabulary& known) {
  if (spec.is_null()) return {};
  Vocabulary with_series_axes = known;
  for (const std::string_view axis : series_axes) {
    if (!std::count(known.axes.begin(), known.axes.end(), axis)) {
      with_series_axes.axes.emplace_back(axis);
    }
  }
  const auto read = read_spec(spec, with_series_axes);
  return read ? std::vector<Diagnostic>() : read.error().diagnostics;
}

Result<Document> build(const Inputs& inputs) {
  if (inputs.sources.empty()) return fail(ExitCode::bad_input, "a report needs a run");
  Records records(inputs.sources);
  Vocabulary known = vocabulary_of_records(records, inputs.metrics);
  known.layouts = inputs.layouts;
  ReportSpec spec;
  if (inputs.spec.is_null()) {
    spec = default_spec(records);
  } else {
    auto read = read_spec(inputs.spec, known);
    if (!read) return tl::unexpected(read.error());
    spec = std::move(*read);
  }
  if (spec.wants_ceilings && inputs.ceilings) {
    if (auto found = ceilings_of_sources(inputs); found) {
      records.set_ceilings(std::move(*found));
    } else {
      return tl::unexpected(found.error());
    }
  }
  Document document;
  if (inputs.with_context) {
    document.title = title_of(inputs.sources);
    document.sections = opening_sections(inputs.sources);
  }
  BlockRenderer render(records, inputs);
  for (const Block& block : spec.blocks) {
    auto sections = std::visit(render, block);
    if (!sections) return tl::unexpected(sections.error());
    std::move(sections->begin(), sections->end(), std::back_inserter(document.sections));
  }
  return document;
}

}  // namespace assay::report
