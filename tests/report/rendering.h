#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/page/report.h"
#include "store/exchange/import.h"
#include "yaml/document.h"

namespace assay::report::testing_support {

inline store::Run run_of(const std::string& csv, const std::string& name = "run") {
  auto run = store::import_text(csv, name + ".csv");
  if (!run) {
    ADD_FAILURE() << run.error().text();
    return {};
  }
  run->info.name = name;
  return std::move(*run);
}

// The times of the cases with this value on an axis are not verified.
inline store::Run unverified_run(const std::string& csv, const std::string& axis,
                                 const std::string& value) {
  store::Run run = run_of(csv);
  for (store::CaseResult& result : run.cases) {
    for (store::Series& series : result.series) {
      if (series.metric == "time") series.clock = "wall";
    }
    if (to_text(result.parameters.at(axis)) != value) continue;
    for (const char* pass : {"forward", "backward"}) {
      result.facts.unverified[pass] = "mine: too large";
    }
  }
  return run;
}

inline Result<Document> built(const std::vector<const store::Run*>& runs, const std::string& yaml) {
  Inputs inputs;
  inputs.sources.assign(runs.begin(), runs.end());
  inputs.with_context = false;
  auto spec = yaml::parse(yaml, "spec.yaml");
  if (!spec) return tl::unexpected(spec.error());
  inputs.spec = std::move(*spec);
  return build(inputs);
}

inline std::string markdown_of(const std::vector<const store::Run*>& runs,
                               const std::string& yaml) {
  const auto document = built(runs, yaml);
  if (!document) return "ERROR " + document.error().text();
  return *to_markdown(*document);
}

inline std::string markdown(const std::string& csv, const std::string& yaml) {
  const store::Run run = run_of(csv);
  return markdown_of({&run}, yaml);
}

using Rows = std::vector<std::vector<std::string>>;

// Whether a line is a row of a Markdown table, its header included.
inline bool is_row(const std::string& line) {
  return line.starts_with('|') && line.find_first_not_of("|:-") != std::string::npos;
}

// The cells of every table of a report, row by row, headers too.
inline Rows cells_of(const std::string& report) {
  Rows rows;
  for (const std::string& line : split(report, '\n')) {
    if (!is_row(line)) continue;
    std::vector<std::string> cells;
    for (const std::string& cell : split(line.substr(1, line.size() - 2), '|')) {
      cells.emplace_back(trim(cell));
    }
    rows.push_back(std::move(cells));
  }
  if (rows.empty()) ADD_FAILURE() << report;
  return rows;
}

// The cells of a report's tables and its other lines, without the blank ones.
using Shown = std::pair<Rows, std::vector<std::string>>;

inline Shown shown(const std::string& report) {
  std::vector<std::string> others;
  for (const std::string& line : split(report, '\n')) {
    if (!line.empty() && !line.starts_with('|')) others.push_back(line);
  }
  return {cells_of(report), others};
}

}  // namespace assay::report::testing_support
