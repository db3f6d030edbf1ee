#include "run/plugins/host_catalogue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "catalogue/listing.h"
#include "run/plugins/plugin_source.h"
#include "run/process/loading.h"
#include "run/process/process.h"
#include "run/workers/worker.h"

namespace assay::run {

namespace {

// Names, sizes and times of the libraries: the key of the cached catalogue.
std::string state_of(const Installation& installation,
                     const std::vector<std::filesystem::path>& more) {
  std::vector<std::string> lines;
  const auto add = [&](const std::filesystem::path& file) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
    lines.push_back(fmt::format("{} {} {}", file.string(), error ? 0 : size, time));
  };
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(installation.plugins, ignored)) {
    if (entry.path().extension() == ".so") add(entry.path());
  }
  add(installation.worker_library);
  for (const auto& file : more) add(file);
  std::sort(lines.begin(), lines.end());
  return join(lines, "\n");
}

// Why the worker wrote no catalogue. looked_at: a file with the library it was reading; asked_for:
// the libraries of the command line.
tl::unexpected<Error> not_listed(const Captured& worker, const std::filesystem::path& looked_at,
                                 const std::vector<std::filesystem::path>& asked_for) {
  const auto said = printable(trim(worker.errors));
  const std::string printed = said.empty() ? "" : "; it printed: " + said;
  const bool stopped = !worker.stopped.empty();
  const std::string more_time =
      worker.late ? fmt::format("{}='10 min' gives a slow machine longer", load_timeout_variable)
                  : "";
  const auto file = read_file(looked_at.string());
  if (!file) {
    std::string text = stopped        ? "the worker was stopped: " + worker.stopped + printed
                       : said.empty() ? "the worker ended with " + worker.end.text()
                                      : said;
    for (const auto& asked : asked_for) {
      if (stopped) text += "\nasked for: " + asked.string();
    }
    return fail(ExitCode::machine_lacks, "the plugins cannot be listed:\n" + text, more_time);
  }
  return tl::unexpected(
      Error{ExitCode::machine_lacks,
            {{{*file},
              (stopped ? "looking at this plugin was stopped: " + worker.stopped
                       : "looking at this plugin ended the process with " + worker.end.text()) +
                  printed,
              "what runs as the library is loaded or as it describes itself is at fault" +
                  (more_time.empty() ? "" : "; " + more_time)}}});
}

// Writes a file beside the output and renames it: other processes may read or write the same.
Result<void> write_with_worker(const Installation& installation,
                               const std::vector<std::filesystem::path>& more, const Bounds& bounds,
                               const std::filesystem::path& output) {
  const std::filesystem::path made = fmt::format("{}.{}", output.string(), ::getpid());
  Process::Command command;
  command.arguments = {installation.executable.string(), "worker", "catalogue", made.string(),
                       installation.plugins.string()};
  for (const auto& file : more) command.arguments.push_back(file.string());
  const auto worker = capture(command, bounds);
  if (!worker) return tl::unexpected(worker.error());
  std::error_code problem;
  const auto looked_at = catalogue::looked_at_beside(made);
  Result<void> listed;
  if (!worker->ok() || !std::filesystem::exists(made, problem)) {
    listed = not_listed(*worker, looked_at, more);
  } else {
    std::filesystem::rename(made, output, problem);
    if (problem) {
      listed = fail(ExitCode::machine_lacks,
                    fmt::format("'{}' cannot be written: {}", output.string(), problem.message()));
    }
  }
  for (const auto& file : {made, looked_at}) std::filesystem::remove(file, problem);
  return listed;
}

Result<catalogue::Catalogue> libraries(const Installation& installation,
                                       const std::vector<std::filesystem::path>& more) {
  // Wrong limits in the environment are refused even where a cached catalogue needs none.
  const auto bounds = bounds_of_loading();
  if (!bounds) return tl::unexpected(bounds.error());
  const std::string state = sha256_hex(state_of(installation, more));
  const std::filesystem::path kept =
      cache_folder() / "catalogues" / (state.substr(0, 24) + ".json");
  std::error_code error;
  if (!std::filesystem::exists(kept, error)) {
    std::filesystem::create_directories(kept.parent_path(), error);
    if (auto written = write_with_worker(installation, more, *bounds, kept); !written) {
      return tl::unexpected(written.error());
    }
  }
  const auto text = read_file(kept.string());
  if (!text) return tl::unexpected(text.error());
  return catalogue::catalogue_from_json(nlohmann::json::parse(*text, nullptr, false));
}

// The plugins of the command line; sources are built.
struct NamedPlugins {
  std::vector<std::filesystem::path> libraries;
  std::vector<std::filesystem::path> descriptors;
};

Result<NamedPlugins> build_and_sort(const Installation& installation,
                                    const std::vector<std::filesystem::path>& more) {
  NamedPlugins named;
  for (const auto& given : more) {
    std::error_code error;
    const auto file = std::filesystem::absolute(given, error);
    const bool folder = std::filesystem::is_directory(file, error);
    if (!folder && !std::filesystem::is_regular_file(file, error)) {
      return tl::unexpected(
          Error{ExitCode::bad_input, {{{given.string()}, "there is no such plugin", ""}}});
    }
    if (!folder && file.extension() == ".yaml") {
      named.descriptors.push_back(file);
    } else if (folder || is_plugin_source(file)) {
      const auto built = build_plugin(installation, file.lexically_normal());
      if (!built) return tl::unexpected(built.error());
      named.libraries.insert(named.libraries.end(), built->begin(), built->end());
    } else {
      named.libraries.push_back(file);
    }
  }
  return named;
}

}  // namespace

Result<catalogue::Catalogue> load_catalogue(const Installation& installation,
                                            const std::vector<std::filesystem::path>& more) {
  auto named = build_and_sort(installation, more);
  if (!named) return tl::unexpected(named.error());
  auto known = libraries(installation, named->libraries);
  if (!known) return known;
  auto external = catalogue::read_external(installation.peers());
  if (!external) return tl::unexpected(external.error());
  std::vector<catalogue::PluginInfo> plugins = std::move(known->plugins);
  plugins.insert(plugins.end(), external->begin(), external->end());
  for (const auto& descriptor : named->descriptors) {
    auto plugin = catalogue::read_descriptor(descriptor);
    if (!plugin) return tl::unexpected(plugin.error());
    plugins.push_back(std::move(*plugin));
  }
  auto catalogue = catalogue::assemble(std::move(known->fingerprint), std::move(plugins));
  if (catalogue) catalogue->versions = std::move(known->versions);
  return catalogue;
}

}  // namespace assay::run
