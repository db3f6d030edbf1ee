#include "run/plugins/build_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "run/process/installation.h"

namespace assay::run {

namespace {

std::string content_hash(const std::filesystem::path& file) {
  const auto text = read_file(file.string());
  return text ? sha256_hex(*text) : "missing";
}

tl::unexpected<Error> not_written(const std::filesystem::path& file, const std::error_code& why) {
  return fail(ExitCode::machine_lacks,
              fmt::format("{} cannot be written: {}", file.string(), why.message()),
              "ASSAY_CACHE names another folder for what can be made again");
}

}  // namespace

CachedFile::CachedFile(std::string_view key, std::string name)
    : folder_(cache_folder() / "plugins" / sha256_hex(key).substr(0, 24)), name_(std::move(name)) {}

std::filesystem::path CachedFile::file_of(const std::string& lines) const {
  return folder_ / sha256_hex(lines).substr(0, 12) / name_;
}

std::optional<std::filesystem::path> CachedFile::current() const {
  const auto lines = read_file(manifest().string());
  if (!lines) return {};
  std::error_code ignored;
  const auto file = file_of(*lines);
  if (!std::filesystem::exists(file, ignored)) return {};
  for (const std::string& line : split(*lines, '\n')) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && content_hash(line.substr(space + 1)) != line.substr(0, space))
      return {};
  }
  return file;
}

std::vector<std::filesystem::path> CachedFile::made_from() const {
  std::vector<std::filesystem::path> files;
  for (const std::string& line : split(read_file(manifest().string()).value_or(""), '\n')) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) files.emplace_back(line.substr(space + 1));
  }
  return files;
}

std::filesystem::path CachedFile::scratch(std::string_view extension) const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  return folder_ / fmt::format("{}{}", ::getpid(), extension);
}

Result<std::filesystem::path> CachedFile::keep(const std::filesystem::path& built,
                                               const std::vector<std::filesystem::path>& made_from,
                                               std::filesystem::file_time_type started) const {
  std::string lines;
  bool certain = true;
  std::error_code error;
  for (const auto& file : made_from) {
    // The compiler may not have read an edit made while it ran.
    certain = certain && !(std::filesystem::last_write_time(file, error) > started);
    lines += content_hash(file) + " " + file.string() + "\n";
  }
  const auto kept = file_of(certain ? lines : lines + "edited meanwhile");
  std::filesystem::create_directories(kept.parent_path(), error);
  if (!certain || !std::filesystem::exists(kept, error)) {
    std::filesystem::rename(built, kept, error);
    if (error) return not_written(kept, error);
  }
  if (!certain) {
    std::filesystem::remove(manifest(), error);
    return kept;
  }
  // The list is put in place last: what it names is there.
  const auto list = scratch(".made_from");
  if (auto written = write_file(list.string(), lines); !written) {
    return tl::unexpected(written.error());
  }
  std::filesystem::rename(list, manifest(), error);
  if (error) return not_written(manifest(), error);
  return kept;
}

std::vector<std::filesystem::path> prerequisites(const std::string& make_rule) {
  std::vector<std::filesystem::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) files.emplace_back(word);
    word.clear();
  };
  for (std::size_t i = std::min(make_rule.find(": "), make_rule.size() - 1) + 1;
       i < make_rule.size(); ++i) {
    if (make_rule[i] == '\\' && i + 1 < make_rule.size()) {
      if (make_rule[++i] != '\n') word += make_rule[i];
    } else if (make_rule[i] == ' ' || make_rule[i] == '\n') {
      end_word();
    } else {
      word += make_rule[i];
    }
  }
  end_word();
  return files;
}

}  // namespace assay::run
