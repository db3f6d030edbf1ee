#include "run/provenance.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "run/process.h"

namespace assay::run {

namespace {

// What a program prints, or nothing when it cannot be run or fails.
std::string output_of(const std::vector<std::string>& arguments) {
  auto process = Process::start({arguments, {}, false});
  if (!process) return {};
  std::string text;
  std::string ignored;
  while (drain(process->output(), text) && !process->ended()) drain(process->errors(), ignored);
  const ProcessEnd end = process->wait();
  drain(process->output(), text);
  return end.signalled || end.number != 0 ? std::string() : std::string(trim(text));
}

// The commit the program was built from: that of the source tree it lies in, unless
// ASSAY_SOURCE_COMMIT states it, as whoever copies a build to another machine does.
nlohmann::json source_state(const std::string& folder) {
  if (const char* stated = std::getenv("ASSAY_SOURCE_COMMIT")) {
    return {{"commit", stated}, {"clean", true}};
  }
  const std::string commit = output_of({"git", "-C", folder, "rev-parse", "HEAD"});
  if (commit.empty()) return nullptr;
  const std::string changes =
      output_of({"git", "-C", folder, "status", "--porcelain", "--untracked-files=no"});
  return {{"commit", commit}, {"clean", changes.empty()}};
}

}  // namespace

nlohmann::json collect_provenance(const Installation& installation,
                                  const catalogue::Catalogue& catalogue) {
  nlohmann::json environment = nlohmann::json::object();
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_NVLS_ENABLE",
                           "NCCL_ALGO", "NCCL_PROTO", "PYTORCH_CUDA_ALLOC_CONF",
                           "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "LD_PRELOAD"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return {{"fingerprint", catalogue.fingerprint},
          {"source", source_state(installation.data.string())},
          {"environment", std::move(environment)}};
}

std::string BuildIdentity::of(const ResolvedCase& resolved) {
  std::string joined = hash(installation_.worker_library.string());
  for (const std::string& file : resolved.request.plugin_files) joined += hash(file);
  if (resolved.external != nullptr) {
    for (const std::string& word : resolved.external->command) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(word, ignored)) joined += hash(word);
    }
    for (const std::string& file : helper_files()) joined += hash(file);
  }
  return sha256_hex(joined);
}

// Of the module that Python programs are timed by.
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

const std::string& BuildIdentity::hash(const std::string& file) {
  const auto [entry, added] = hashes_.try_emplace(file);
  if (added) {
    const auto content = read_file(file);
    entry->second = sha256_hex(content ? *content : file);
  }
  return entry->second;
}

}  // namespace assay::run
