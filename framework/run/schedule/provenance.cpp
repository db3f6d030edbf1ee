#include "run/schedule/provenance.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "base/text.h"
#include "config/matrix.h"
#include "run/process/environment.h"
#include "store/records/json.h"

extern char** environ;

namespace assay::run {

namespace {}  // namespace

nlohmann::json source_state(const Installation& installation) {
  if (const auto text = read_file(installation.source())) {
    auto built_from = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (built_from.is_object()) return built_from;
  }
  const char* stated = std::getenv("ASSAY_SOURCE_COMMIT");
  if (stated == nullptr || *stated == '\0') return nullptr;
  return {{"commit", stated}, {"clean", nullptr}};
}

nlohmann::json collect_provenance(const Installation& installation,
                                  const catalogue::Catalogue& catalogue,
                                  const config::Experiment& experiment,
                                  const std::vector<std::string>& plugins, bool allow_external) {
  MeasuringEnvironment environment = measuring_environment(environ);
  nlohmann::json provenance = {{"fingerprint", catalogue.fingerprint},
                               {"versions", catalogue.versions},
                               {"source", source_state(installation)},
                               {"environment", std::move(environment.variables)},
                               {"environment_shortened", std::move(environment.shortened)},
                               {"experiment_sha256", sha256_hex(experiment.text)}};
  if (!experiment.presets.empty()) provenance["presets"] = experiment.presets;
  const store::Parameters left_out = config::values_left_out(experiment);
  if (!left_out.empty()) provenance["left_out"] = store::to_json(left_out);
  if (!plugins.empty()) provenance["plugins"] = plugins;
  if (allow_external) provenance["allow_external"] = true;
  return provenance;
}

std::vector<std::string> BuildIdentity::files_of(const ResolvedCase& resolved) const {
  std::vector<std::string> files = {installation_.worker_library.string()};
  const auto& plugins = resolved.request.plugin_files;
  files.insert(files.end(), plugins.begin(), plugins.end());
  if (resolved.external == nullptr) return files;
  for (const std::string& word : resolved.external->command) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(word, ignored)) files.push_back(word);
  }
  const auto helpers = helper_files();
  files.insert(files.end(), helpers.begin(), helpers.end());
  return files;
}

BuildIdentity::Files BuildIdentity::files(const ResolvedCase& resolved) {
  Files files;
  for (const std::string& file : files_of(resolved)) files.emplace_back(file, hash(file));
  return files;
}

std::string BuildIdentity::identity(const Files& files) {
  std::string joined;
  for (const auto& [file, sha256] : files) joined += sha256;
  return sha256_hex(joined);
}

nlohmann::json BuildIdentity::describe(const Files& files) const {
  nlohmann::json described = nlohmann::json::object();
  for (const auto& [file, sha256] : files) {
    std::string shown = file;
    const auto prefix = installation_.executable.parent_path().parent_path();
    for (const std::filesystem::path& root : {prefix, installation_.data}) {
      const std::string inside = root.string() + "/";
      if (shown == file && file.starts_with(inside)) shown = file.substr(inside.size());
    }
    described[shown] = sha256;
  }
  return {{"files", std::move(described)}};
}

std::vector<std::string> BuildIdentity::helper_files() const {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(installation_.peers() / "assay_peer", ignored)) {
    if (entry.path().extension() == ".py") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

BuildIdentity::Stamp BuildIdentity::stamp_of(const std::string& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {static_cast<std::int64_t>(status.st_dev),
          static_cast<std::int64_t>(status.st_ino),
          status.st_size,
          status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec,
          status.st_ctim.tv_nsec};
}

const std::string& BuildIdentity::hash(const std::string& file) {
  const Stamp stamp = stamp_of(file);
  const auto [entry, added] = hashes_.try_emplace(file);
  Hashed& known = entry->second;
  if (!added && known.stamp == stamp) return known.sha256;
  const auto content = read_file(file);
  std::string sha256 = sha256_hex(content ? *content : file);
  if (!added && sha256 != known.sha256) ++changes_;
  known = {stamp, std::move(sha256)};
  return known.sha256;
}

std::vector<std::string> changed_between(const BuildIdentity::Files& before,
                                         const BuildIdentity::Files& after) {
  const std::set<BuildIdentity::Files::value_type> old(before.begin(), before.end());
  const std::set<BuildIdentity::Files::value_type> now(after.begin(), after.end());
  BuildIdentity::Files changed;
  std::set_symmetric_difference(old.begin(), old.end(), now.begin(), now.end(),
                                std::back_inserter(changed));
  std::set<std::string> names;
  for (const auto& [file, sha256] : changed) {
    names.insert(std::filesystem::path(file).filename().string());
  }
  return {names.begin(), names.end()};
}

}  // namespace assay::run
