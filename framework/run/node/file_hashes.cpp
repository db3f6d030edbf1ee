#include "run/node/file_hashes.h"

#include <sys/stat.h>

#include "base/text.h"

namespace assay::run {

FileHashes::Stamp FileHashes::stamp_of(const std::string& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

const std::string& FileHashes::of(const std::string& file) {
  const Stamp stamp = stamp_of(file);
  const auto [entry, added] = known_.try_emplace(file);
  Known& known = entry->second;
  if (!added && known.stamp == stamp) return known.sha256;
  const auto content = read_file(file);
  known = {stamp, content ? sha256_hex(*content) : ""};
  return known.sha256;
}

}  // namespace assay::run
