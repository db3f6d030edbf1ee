#include "store/database/baselines.h"

#include <fmt/format.h>

#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace assay::store {

std::string baseline_name(const RunInfo& info) {
  return string_at(info.first.provenance, baseline_member);
}

Result<std::map<std::string, std::string>> baselines(Database& database) {
  const auto runs = database.runs();
  if (!runs) return tl::unexpected(runs.error());
  std::map<std::string, std::string> found;
  for (const RunSummary& run : *runs) {  // the newest first
    const std::string name = baseline_name(run.info);
    if (!name.empty() && !run.info.finished.empty()) found.try_emplace(name, run.info.name);
  }
  return found;
}

Result<std::string> baseline_run(Database& database, const std::string& baseline) {
  const auto known = baselines(database);
  if (!known) return tl::unexpected(known.error());
  const auto found = known->find(baseline);
  if (found != known->end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, run] : *known) names.push_back(name);
  return fail(ExitCode::bad_input,
              fmt::format("there is no baseline '{}'{}", baseline,
                          names.empty() ? "" : suggestion(baseline, names)),
              fmt::format("`--save-baseline {}` keeps a run as one", baseline));
}

}  // namespace assay::store
