#include "report/page/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <span>

#include "base/text.h"
#include "report/data/records.h"
#include "report/document/markdown_table.h"
#include "report/findings/findings.h"
#include "report/page/ambiguous_axes.h"
#include "report/page/context.h"
#include "report/page/default_rates.h"
#include "report/page/default_spec.h"
#include "report/page/quality.h"
#include "report/page/settle.h"
#include "report/page/vocabulary.h"
#include "report/picture/picture.h"
#include "report/read/read_blocks.h"
#include "report/table/artefacts_block.h"
#include "report/table/table.h"

namespace assay::report {
namespace {

// "attention" covers attention.block_m, too; measure.passes covers "pass".
bool is_set(const std::string& axis, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return axis == name || axis.starts_with(name + ".") ||
           (axis == "pass" && name == "measure.passes");
  });
}

// Located at the figure if the user's file holds it, else at the entry that includes its layout.
Diagnostic objection(const AmbiguousPlace& place, const SourceLocation& entry) {
  const std::string& axis = place.axes.front();
  const bool own = place.where.file == entry.file && place.where.line > 0;
  return {
      own ? place.where : entry,
      fmt::format("{} would show several results in one place: it does not name {}", place.what,
                  join(place.texts, ", ")),
      fmt::format(
          "add {0} to its `{1}`, {2}or choose one with `where`", axis, place.key,
          place.key == "for_each" ? "" : fmt::format("pool its values with `pool: [{}]`, ", axis))};
}

Result<std::vector<Ceilings>> ceilings_of_sources(const Inputs& inputs) {
  std::vector<Ceilings> of_sources;
  for (const Source& source : inputs.sources) {
    auto found = inputs.ceilings(*source.run);
    if (!found) return tl::unexpected(found.error());
    of_sources.push_back(std::move(*found));
  }
  return of_sources;
}

class BlockRenderer {
 public:
  BlockRenderer(const Records& records, const Inputs& inputs)
      : records_(records),
        inputs_(inputs),
        pictures_{inputs.pictures.empty() ? inputs.folder : inputs.folder / inputs.pictures,
                  inputs.picture_prefix} {}

  void add(const Block& block, Document& document) {
    auto sections = std::visit(*this, block);
    if (!sections) sections = add_axes(block, std::move(sections.error()));
    if (!sections) {
      const Error& error = sections.error();
      document.sections.emplace_back(Paragraph{"**Not made**: " + escape_cell(error.text())});
      std::ranges::copy(error.diagnostics, std::back_inserter(document.problems));
      return;
    }
    std::ranges::move(*sections, std::back_inserter(document.sections));
  }

  Result<std::vector<Section>> operator()(const HeadingSpec& spec) {
    return std::vector<Section>{Heading{spec.level, spec.text}};
  }
  Result<std::vector<Section>> operator()(const ProseSpec& spec) {
    return std::vector<Section>{Paragraph{spec.text}};
  }
  Result<std::vector<Section>> operator()(const TableSpec& spec) {
    return table_sections(records_, spec, pictures_, tables_);
  }
  Result<std::vector<Section>> operator()(const TextSpec& spec) {
    return text_sections(records_, spec);
  }
  Result<std::vector<Section>> operator()(const PlotSpec& spec) {
    return plot_sections(records_, spec, pictures_, plots_);
  }
  Result<std::vector<Section>> operator()(const TimelineSpec& spec) {
    return timeline_sections(records_, spec, pictures_, timelines_);
  }
  Result<std::vector<Section>> operator()(const FlameSpec& spec) {
    return flame_sections(records_, spec, pictures_, flames_);
  }
  Result<std::vector<Section>> operator()(const ArtefactsSpec& spec) {
    return artefact_sections(records_, spec, {inputs_.results, inputs_.folder});
  }
  Result<std::vector<Section>> operator()(const FindingsSpec& spec) {
    return findings_sections(records_, spec);
  }

 private:
  Result<std::vector<Section>> add_axes(const Block& block, Error error) {
    const AmbiguousPlace place =
        ambiguous_axes(records_, block, overridden_names(records_.sources()));
    if (place.axes.empty()) return tl::unexpected(std::move(error));
    auto sections = std::visit(*this, with_axes_added(records_, block, place.axes));
    if (sections) sections->emplace_back(Paragraph{note_on_added(place.axes)});
    return sections;
  }

  const Records& records_;
  const Inputs& inputs_;
  SideFiles pictures_;
  int plots_ = 0;
  int tables_ = 0;
  int timelines_ = 0;
  int flames_ = 0;
};

// A document for each block. Blocks only read the records, so each kind has a thread (where the
// system has one left); those of one kind are numbered and made in turn.
std::vector<Document> rendered(const Records& records, const Inputs& inputs,
                               const std::vector<Block>& blocks) {
  std::map<std::size_t, std::vector<std::size_t>> places_by_kind;
  for (std::size_t i = 0; i < blocks.size(); ++i) places_by_kind[blocks[i].index()].push_back(i);
  std::vector<Document> documents(blocks.size());
  std::vector<std::future<void>> kinds;
  for (const auto& kind : places_by_kind) {
    kinds.push_back(std::async([&, &places = kind.second] {
      BlockRenderer render(records, inputs);
      for (const std::size_t place : places) render.add(blocks[place], documents[place]);
    }));
  }
  for (std::future<void>& kind : kinds) kind.get();
  return documents;
}

void append(std::span<Document> more, Document& document) {
  for (Document& one : more) {
    std::ranges::move(one.sections, std::back_inserter(document.sections));
    std::ranges::move(one.problems, std::back_inserter(document.problems));
  }
}

bool is_heading(const std::vector<Block>& blocks, std::size_t at) {
  return at < blocks.size() && std::holds_alternative<HeadingSpec>(blocks[at]);
}

// Takes the findings with a heading of their own, and nothing else under it: a report begins with
// what was found.
std::vector<Block> take_findings(ReportSpec& spec) {
  std::vector<Block> taken, rest;
  std::vector<Block>& all = spec.blocks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool headed = is_heading(all, i) && i + 1 < all.size() &&
                        std::holds_alternative<FindingsSpec>(all[i + 1]) &&
                        (i + 2 == all.size() || is_heading(all, i + 2));
    if (!headed) {
      rest.push_back(std::move(all[i]));
      continue;
    }
    taken.push_back(std::move(all[i]));
    taken.push_back(std::move(all[++i]));
  }
  all = std::move(rest);
  return taken;
}

}  // namespace

Result<ReportSpec> read_spec(const yaml::Node& spec, const Vocabulary& known) {
  if (spec.is_null()) return ReportSpec();
  Vocabulary complete = known;
  for (const std::string_view axis : series_axes) {
    if (!std::ranges::count(known.axes, axis)) complete.axes.emplace_back(axis);
  }
  Error error;
  Reader reader(complete, error.diagnostics);
  ReportSpec read = read_report(reader, spec);
  if (!error.diagnostics.empty()) return tl::unexpected(std::move(error));
  return read;
}

std::vector<Diagnostic> check(const yaml::Node& spec, const Vocabulary& known) {
  const auto read = read_spec(spec, known);
  return read ? std::vector<Diagnostic>() : read.error().diagnostics;
}

std::vector<Diagnostic> ambiguous_axes_of_plan(
    const ReportSpec& spec, const config::Plan& plan, const std::vector<std::string>& passes,
    const std::vector<std::string>& overridden,
    const std::map<std::string, nlohmann::json>& presets) {
  const Records records(plan, passes, presets);
  std::vector<Diagnostic> diagnostics;
  for (std::size_t i = 0; i < spec.blocks.size(); ++i) {
    AmbiguousPlace place = ambiguous_axes(records, spec.blocks[i], overridden);
    std::erase_if(place.axes, [&](const std::string& axis) { return is_set(axis, overridden); });
    if (!place.axes.empty()) diagnostics.push_back(objection(place, spec.places[i]));
  }
  return diagnostics;
}

Result<Document> build(const Inputs& inputs) {
  if (inputs.sources.empty()) return fail(ExitCode::bad_input, "a report needs a run");
  Records records(inputs.sources);
  records.add_bucket_models();
  Vocabulary known = vocabulary_of(records, inputs.sources, inputs.metrics);
  known.layouts = inputs.layouts;
  add_passes(inputs.passes, known);
  ReportSpec spec;
  if (!inputs.spec.is_null()) {
    auto read = read_spec(inputs.spec, known);
    if (!read) return tl::unexpected(read.error());
    spec = std::move(*read);
  }
  const bool of_default = inputs.spec.is_null() && counts_work(records);
  if ((spec.wants_ceilings || of_default) && inputs.ceilings) {
    if (auto found = ceilings_of_sources(inputs); found) {
      records.set_ceilings(std::move(*found));
      records.add_bucket_models();
    } else {
      return tl::unexpected(found.error());
    }
  }
  if (inputs.spec.is_null()) spec = default_spec(records);
  settle_statistics(records, spec);
  std::vector<Block> blocks = take_findings(spec);
  const std::size_t findings = blocks.size();
  std::ranges::move(spec.blocks, std::back_inserter(blocks));
  const bool headed = is_heading(blocks, findings);
  std::vector<Document> made = rendered(records, inputs, blocks);
  Document document;
  if (inputs.with_context) {
    document.title = title_of(records.sources());
    document.sections = questions_of(records.sources());
  }
  append(std::span(made).first(findings), document);
  if (inputs.with_context) {
    std::ranges::move(environment_sections(records.sources()),
                      std::back_inserter(document.sections));
    // Otherwise the blocks would belong to the environment's heading.
    if (!headed) document.sections.push_back(Heading{2, "Results"});
  }
  append(std::span(made).subspan(findings), document);
  std::ranges::move(quality_sections(records, shown_marks(document.sections)),
                    std::back_inserter(document.sections));
  return document;
}

}  // namespace assay::report
