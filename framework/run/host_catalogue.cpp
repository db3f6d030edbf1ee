#include "run/host_catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "run/process.h"

namespace assay::run {

namespace {

// Names, sizes and times of the libraries: when they change, so may what they hold.
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

Result<void> write_with_worker(const Installation& installation,
                               const std::vector<std::filesystem::path>& more,
                               const std::filesystem::path& output) {
  Process::Command command;
  command.arguments = {installation.executable.string(), "worker", "catalogue", output.string(),
                       installation.plugins.string()};
  for (const auto& file : more) command.arguments.push_back(file.string());
  auto process = Process::start(command);
  if (!process) return tl::unexpected(process.error());
  std::string said;
  while (drain(process->errors(), said) && !process->ended()) {
    std::string ignored;
    drain(process->output(), ignored);
  }
  const ProcessEnd end = process->wait();
  drain(process->errors(), said);
  if (end.signalled || end.number != 0) {
    return fail(ExitCode::machine_lacks,
                fmt::format("the plugins cannot be listed:\n{}",
                            said.empty() ? "the worker ended with " + end.text() : trim(said)));
  }
  return {};
}

Result<catalogue::Catalogue> libraries(const Installation& installation,
                                       const std::vector<std::filesystem::path>& more) {
  const std::string state = sha256_hex(state_of(installation, more));
  const std::filesystem::path kept =
      cache_folder() / "catalogues" / (state.substr(0, 24) + ".json");
  std::error_code error;
  if (!std::filesystem::exists(kept, error)) {
    std::filesystem::create_directories(kept.parent_path(), error);
    if (auto written = write_with_worker(installation, more, kept); !written) {
      return tl::unexpected(written.error());
    }
  }
  const auto text = read_file(kept.string());
  if (!text) return tl::unexpected(text.error());
  return catalogue::catalogue_from_json(nlohmann::json::parse(*text, nullptr, false));
}

}  // namespace

Result<catalogue::Catalogue> load_catalogue(const Installation& installation,
                                            const std::vector<std::filesystem::path>& more) {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> descriptors;
  for (const auto& file : more) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      return tl::unexpected(
          Error{ExitCode::bad_input, {{{file.string()}, "there is no such plugin", ""}}});
    }
    (file.extension() == ".yaml" ? descriptors : files).push_back(std::filesystem::absolute(file));
  }
  auto known = libraries(installation, files);
  if (!known) return known;
  auto external = catalogue::read_external(installation.peers());
  if (!external) return tl::unexpected(external.error());
  std::vector<catalogue::PluginInfo> plugins = std::move(known->plugins);
  plugins.insert(plugins.end(), external->begin(), external->end());
  for (const auto& descriptor : descriptors) {
    auto plugin = catalogue::read_descriptor(descriptor);
    if (!plugin) return tl::unexpected(plugin.error());
    plugins.push_back(std::move(*plugin));
  }
  auto catalogue = catalogue::assemble(std::move(known->fingerprint), std::move(plugins));
  if (catalogue) catalogue->versions = std::move(known->versions);
  return catalogue;
}

}  // namespace assay::run
