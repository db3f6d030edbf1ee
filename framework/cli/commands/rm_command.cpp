#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "run/workers/worker.h"
#include "store/database/baselines.h"
#include "store/records/artefacts.h"

namespace assay::cli {

namespace {

Usage rm_usage() {
  Usage usage{"rm",
              "RUN…",
              "Removes runs with their results and the files that their cases have left. Reports\n"
              "stay: remove the run's folder to remove them too. A run that is being measured or "
              "is kept\nas a baseline is left alone.",
              "assay rm quickstart-1",
              po::options_description("Options"),
              {}};
  add_results_option(usage.options);
  usage.options.add_options()("run", po::value<std::vector<std::string>>()->value_name("RUN"),
                              "a run; the same as the argument")(
      "baseline", po::bool_switch(), "also a run that is kept as a baseline");
  usage.positions.add("run", -1);
  return usage;
}

// Removes what the run has left in its folder, and the folder where nothing else is in it.
void remove_files(const std::filesystem::path& folder) {
  std::error_code problem;
  // Of a link only the link.
  std::filesystem::remove_all(folder / store::artefact_folder, problem);
  if (problem) {
    print_error("{} could not be removed: {}\n", (folder / store::artefact_folder).string(),
                problem.message());
  }
  std::filesystem::remove(folder, problem);
}

Result<void> remove_run(store::Database& database, const std::filesystem::path& results,
                        const std::string& name) {
  const auto claim = database.claim_run(name);
  if (!claim) return tl::unexpected(claim.error());
  const auto files = database.remove_run(name);
  if (!files) return tl::unexpected(files.error());
  remove_files(results / name);
  print_out("removed {}{}\n", printable(name),
            files->empty()
                ? ""
                : fmt::format(" and {} of its cases", counted(files->size(), "file", "files")));
  return {};
}

Result<void> refuse_baselines(store::Database& database, const std::vector<std::string>& names) {
  const auto kept = store::baselines(database);
  if (!kept) return tl::unexpected(kept.error());
  for (const auto& [baseline, run] : *kept) {
    if (std::ranges::count(names, run) == 0) continue;
    return fail(ExitCode::bad_input, fmt::format("{} is kept as the baseline '{}'", run, baseline),
                "`--baseline` removes it all the same");
  }
  return {};
}

}  // namespace

Result<ExitCode> rm_command(const Arguments& arguments) {
  const auto values = parse(rm_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::vector<std::string> asked = texts(**values, "run");
  if (asked.empty()) {
    return fail(ExitCode::bad_input, "say which run to remove", "`assay list runs` lists them");
  }
  auto database = open_database(**values, store::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  std::vector<std::string> names;
  for (const std::string& name : asked) {  // all exist before any is removed
    const auto info = database->run_info(name);
    if (!info) return tl::unexpected(info.error());
    names.push_back(info->name);
  }
  if (!(**values)["baseline"].as<bool>()) {
    if (auto allowed = refuse_baselines(*database, names); !allowed) {
      return tl::unexpected(allowed.error());
    }
  }
  for (const std::string& name : names) {
    const auto removed = remove_run(*database, results_folder(**values), name);
    if (!removed) return tl::unexpected(removed.error());
  }
  return ExitCode::ok;
}

}  // namespace assay::cli
