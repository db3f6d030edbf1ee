#include <fmt/format.h>

#include <algorithm>

#include "base/renamed_variants.h"
#include "base/text.h"
#include "config/experiment.h"
#include "config/matrix.h"
#include "config/read/axes.h"
#include "config/read/case_entries.h"
#include "config/read/interleave.h"
#include "config/read/observers.h"
#include "config/read/request.h"
#include "expression/expression.h"

namespace assay::config {
namespace {

// For an unknown name the nearest workload, so that the rest is checked too.
const catalogue::PluginInfo* find_workload(const Environment& environment, const yaml::Node& name,
                                           Diagnostics& diagnostics) {
  const auto* workload = environment.catalogue->find("workload", name.text);
  if (workload) return workload;
  std::vector<std::string> known;
  for (const auto* plugin : environment.catalogue->of_kind("workload")) {
    known.push_back(plugin->name);
  }
  diagnostics.add(name.where,
                  fmt::format("unknown workload '{}'{}", name.text, suggestion(name.text, known)));
  const auto meant = nearest(name.text, known);
  return meant ? environment.catalogue->find("workload", *meant) : nullptr;
}

std::vector<std::string> read_passes(const yaml::Node& node, const catalogue::PluginInfo& workload,
                                     Diagnostics& diagnostics) {
  const auto items = node.one_or_more();
  if (items.empty()) {
    diagnostics.add(node.where, "measure.passes is empty",
                    fmt::format("passes of '{}': {}", workload.name, join(workload.passes, ", ")));
  }
  std::vector<std::string> passes;
  for (const yaml::Node& item : items) {
    const auto is_this = [&](const std::string& pass) { return pass == item.text; };
    if (!item.is_scalar() ||
        std::none_of(workload.passes.begin(), workload.passes.end(), is_this)) {
      diagnostics.add(item.where, fmt::format("the workload '{}' has no pass '{}'{}", workload.name,
                                              item.text, suggestion(item.text, workload.passes)));
    } else if (std::any_of(passes.begin(), passes.end(), is_this)) {
      diagnostics.add(item.where, fmt::format("the pass '{}' is given twice", item.text));
    } else {
      passes.push_back(item.text);
    }
  }
  return passes;
}

// "attention 'math' is now called 'math_libtorch'"; "" for another word.
std::string renamed_in(const Expression::Use& use, const Vocabulary& vocabulary) {
  const std::string_view now = name_now(use.beside, use.name);
  const bool is_old = !now.empty() && vocabulary.variant(use.beside, use.name) == nullptr;
  return is_old ? fmt::format("{} '{}' is now called '{}'", use.beside, use.name, now) : "";
}

// Every name of a filter must be the workload's or a bare word compared with one.
void check_filter(const std::string& text, const SourceLocation& origin,
                  const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  const auto expression = Expression::compile(text);
  if (!expression) {
    for (const Diagnostic& diagnostic : expression.error().diagnostics) {
      diagnostics.add(origin, diagnostic.message, diagnostic.hint);
    }
    return;
  }
  std::vector<std::string> names = vocabulary.names(true);
  names.emplace_back("workload");
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Expression::Use& use : expression->uses()) {
    if (const std::string renamed = renamed_in(use, vocabulary); !renamed.empty()) {
      diagnostics.add(origin, fmt::format("{} in '{}'", renamed, text));
    }
    if (known(use.name) || known(use.beside)) continue;
    diagnostics.add(origin, fmt::format("unknown name '{}' in '{}'{}", use.name, text,
                                        suggestion(use.name, vocabulary.names(false))));
  }
}

void read_for_workload(const catalogue::PluginInfo& workload, const Request& request,
                       const Presets& presets, const Environment& environment,
                       const Override& override, Experiment& experiment, Diagnostics& diagnostics) {
  const Vocabulary vocabulary(*environment.catalogue, workload);
  ValueChecker checker(presets, diagnostics, environment.presets);
  AxisReader axes(vocabulary, request, checker, diagnostics);
  axes.read(experiment);
  CaseEntryReader(vocabulary, request, axes, checker, diagnostics).read(experiment);
  check_observers(request, *environment.catalogue, diagnostics);
  check_interleave(request, vocabulary, diagnostics);
  experiment.passes = request.passes ? read_passes(*request.passes, workload, diagnostics)
                                     : workload.default_passes;
  for (const yaml::Node& filter : override.of_chapter.filters) {
    check_filter(filter.text, filter.where, vocabulary, diagnostics);
  }
  if (const yaml::Node& needs = override.of_chapter.needs; !needs.is_null()) {
    check_filter(needs.text, needs.where, vocabulary, diagnostics);
  }
  for (std::size_t i = 0; i < override.filters.size(); ++i) {
    check_filter(override.filters[i], {fmt::format("--filter {}", i + 1)}, vocabulary, diagnostics);
  }
  if (const auto refused = over_limit(experiment)) {
    diagnostics.add(request.matrix_where, refused->message, refused->hint);
  }
  experiment.presets = checker.configs();
}

}  // namespace

Reading read_text(std::string_view text, const std::string& file_name,
                  const Environment& environment, const Override& override) {
  const auto document = yaml::read(text, file_name);
  if (!document) return {{}, tl::unexpected(document.error())};
  return read_document(*document, text, file_name, environment, override);
}

Reading read_document(const yaml::Document& document, std::string_view text,
                      const std::string& file_name, const Environment& environment,
                      const Override& override) {
  const Changes& of_chapter = override.of_chapter;
  Diagnostics diagnostics(file_name);
  diagnostics.add({ExitCode::bad_input, document.mistakes});
  Request request = read_request(document.root, diagnostics);
  if (!of_chapter.title.empty()) request.title = of_chapter.title;
  if (!of_chapter.report.is_null()) request.report = of_chapter.report;
  Written written = written_in(request);
  apply_changes(of_chapter, request, diagnostics);
  apply_settings(override.settings, request, diagnostics);

  Experiment experiment;
  experiment.name = request.name;
  experiment.title = request.title;
  experiment.file = file_name;
  experiment.text = text;
  experiment.case_limit = request.case_limit;
  experiment.report = request.report;
  experiment.exclude_where = request.exclude_where;
  for (const yaml::Node& filter : of_chapter.filters) experiment.filters.push_back(filter.text);
  experiment.filters.insert(experiment.filters.end(), override.filters.begin(),
                            override.filters.end());
  if (request.workload) {
    experiment.workload = request.workload->text;
    const Presets presets(environment.configs, std::filesystem::path(file_name).parent_path());
    if (const auto* workload = find_workload(environment, *request.workload, diagnostics)) {
      read_for_workload(*workload, request, presets, environment, override, experiment,
                        diagnostics);
    }
  }
  if (!diagnostics.empty()) return {std::move(written), tl::unexpected(diagnostics.take())};
  return {std::move(written), std::move(experiment)};
}

bool has_name(const Environment& environment, std::string_view workload, std::string_view name) {
  if (name == "measure.passes" || name == "limits.cases" || name == "workload") return true;
  const auto* plugin = environment.catalogue->find("workload", workload);
  return plugin != nullptr && Vocabulary(*environment.catalogue, *plugin).find(name).sort !=
                                  Vocabulary::Meaning::Sort::unknown;
}

Result<Experiment> parse_experiment(std::string_view text, const std::string& file_name,
                                    const Environment& environment, const Override& override) {
  return read_text(text, file_name, environment, override).experiment;
}

Result<Experiment> read_experiment(const std::string& path, const Environment& environment,
                                   const Override& override) {
  const auto text = read_file(path, yaml::Limits{}.bytes);
  if (!text) return tl::unexpected(text.error());
  return parse_experiment(*text, path, environment, override);
}

}  // namespace assay::config
