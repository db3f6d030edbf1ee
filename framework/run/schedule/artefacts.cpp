#include "run/schedule/artefacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "base/text.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

// For a path: other characters than these could lead out of the folder.
std::string plain(std::string_view text) {
  std::string name(text);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        return !allowed;
      },
      '_');
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name;
}

// A rename, or a copy to another file system.
void move_file(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  std::error_code another_system;
  fs::rename(from, to, another_system);
  if (!another_system) return;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  fs::remove(from);
}

std::string take(store::Artefact& artefact, const std::string& folder, const fs::path& run_folder,
                 std::int64_t left_bytes) {
  const fs::path from = artefact.file;
  std::error_code missing;
  if (fs::symlink_status(from, missing).type() != fs::file_type::regular) {
    return "is no regular file";
  }
  artefact.bytes = static_cast<std::int64_t>(fs::file_size(from));
  if (artefact.bytes > left_bytes) {
    return fmt::format(
        "has {}; the case's files on a rank may have {} more "
        "(measure.artefact_limit)",
        human_size(artefact.bytes), human_size(std::max<std::int64_t>(0, left_bytes)));
  }
  const auto content = read_file(from.string());
  if (!content) return "cannot be read: " + content.error().text();
  artefact.sha256 = sha256_hex(*content);
  artefact.file = fmt::format("artefacts/{}/{}/{}/{}", folder, plain(artefact.pass), artefact.rank,
                              plain(artefact.name));
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
      problem = take(artefact, case_key.substr(0, 12), run_folder, room);
    } catch (const fs::filesystem_error& failure) {
      problem = fmt::format("cannot be kept: {}", failure.what());
    }
    if (problem.empty()) {
      room -= artefact.bytes;
      taken.artefacts.push_back(std::move(artefact));
    } else {
      taken.marks.push_back(
          {"artefact", one.pass, fmt::format("the file '{}' {}", plain(one.name), problem)});
    }
  }
  return taken;
}

}  // namespace assay::run
