#include "run/schedule/artefacts.h"

#include <fmt/format.h>

#include <map>
#include <system_error>

#include "base/files_below.h"
#include "store/records/artefacts.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

// A rename, or a copy to another file system.
void move_file(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  std::error_code another_system;
  fs::rename(from, to, another_system);
  if (!another_system) return;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  fs::remove(from);
}

// "": moved. Else why it was not.
std::string take(store::Artefact& artefact, const std::string& case_key, const fs::path& run_folder,
                 std::int64_t left_bytes) {
  const fs::path from = artefact.file;
  std::error_code missing;
  // A program may have put a link in place of the folder of its pass, its rank or its case.
  fs::path folder = from.parent_path();
  for (int level = 0; level < 3; ++level, folder = folder.parent_path()) {
    if (fs::is_symlink(folder, missing)) return "lies behind a link";
  }
  if (fs::symlink_status(from, missing).type() != fs::file_type::regular) {
    return "is no regular file";
  }
  if (const auto bytes = static_cast<std::int64_t>(fs::file_size(from)); bytes > left_bytes) {
    return store::over_artefact_limit(bytes, left_bytes);
  }
  const auto digest = digest_below(from.parent_path(), from.filename().string(), left_bytes);
  if (!digest) return "cannot be read: " + digest.error().text();
  artefact.bytes = digest->bytes;
  artefact.sha256 = digest->sha256;
  artefact.file = store::artefact_file(case_key, artefact);
  move_file(from, run_folder / artefact.file);
  return {};
}

}  // namespace

TakenArtefacts take_artefacts(const std::vector<store::Artefact>& left, const std::string& case_key,
                              const fs::path& run_folder, std::int64_t limit_bytes) {
  TakenArtefacts taken;
  std::map<int, std::int64_t> left_bytes;  // by rank
  for (const store::Artefact& one : left) {
    store::Artefact artefact = one;
    std::int64_t& room = left_bytes.try_emplace(one.rank, limit_bytes).first->second;
    std::string problem;
    try {
      problem = take(artefact, case_key, run_folder, room);
    } catch (const fs::filesystem_error& failure) {
      problem = fmt::format("cannot be kept: {}", failure.what());
    }
    if (problem.empty()) {
      room -= artefact.bytes;
      taken.artefacts.push_back(std::move(artefact));
    } else {
      taken.marks.push_back(store::artefact_not_kept(one, problem));
    }
  }
  return taken;
}

}  // namespace assay::run
