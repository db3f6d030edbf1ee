#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// A run in which nobody has verified the times of the cases with this value on an axis.
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

// The same as a result, for errors.
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

}  // namespace assay::report::testing_support
