#include "cli/ceilings.h"

#include <fmt/format.h>

#include "cli/context.h"
#include "store/exchange/import.h"

namespace assay::cli {

namespace {

constexpr std::string_view calibration_prefix = "calibrate_";

std::vector<std::string> gpu_names(const nlohmann::json& machine) {
  std::vector<std::string> names;
  if (!machine.is_object() || !machine.contains("gpus")) return names;
  for (const nlohmann::json& gpu : machine["gpus"]) {
    if (gpu.is_object()) names.push_back(gpu.value("name", ""));
  }
  return names;
}

bool same_machine(const nlohmann::json& a, const nlohmann::json& b) {
  if (!a.is_object() || !b.is_object()) return false;
  const std::string host = a.value("host", "");
  return !host.empty() && host == b.value("host", "") && gpu_names(a) == gpu_names(b);
}

Result<store::Run> named_run(store::Database& database, const std::string& name) {
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".csv")) {
    return store::import_file(name);
  }
  const auto known = run_name(database, name);
  if (!known) return tl::unexpected(known.error());
  return database.load_run(*known);
}

}  // namespace

Result<report::Ceilings> ceilings_of_machine(store::Database& database,
                                             const nlohmann::json& machine) {
  const auto runs = database.runs();
  if (!runs) return tl::unexpected(runs.error());
  // The first ceiling of a name counts, and `runs` begins with the newest.
  report::Ceilings ceilings;
  for (const bool narrowed : {false, true}) {
    for (const store::RunSummary& summary : *runs) {
      const store::RunInfo& info = summary.info;
      if (!info.experiment.starts_with(calibration_prefix)) continue;
      if (info.first.overrides.empty() == narrowed || !same_machine(info.first.machine, machine))
        continue;
      const auto run = database.load_run(info.name);
      if (!run) return tl::unexpected(run.error());
      ceilings.add(*run);
    }
  }
  return ceilings;
}

Result<report::Ceilings> ceilings_named(store::Database& database,
                                        const std::vector<std::string>& names) {
  report::Ceilings ceilings;
  for (const std::string& name : names) {
    const auto run = named_run(database, name);
    if (!run) return tl::unexpected(run.error());
    report::Ceilings own;
    own.add(*run);
    if (own.empty()) {
      return fail(ExitCode::bad_input, fmt::format("'{}' has measured no ceiling", name),
                  "name a run that `assay calibrate` made, or an export of one");
    }
    ceilings.add(*run);
  }
  return ceilings;
}

}  // namespace assay::cli
