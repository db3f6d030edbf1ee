#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config/experiment.h"
#include "run/cases/resolve.h"
#include "run/process/installation.h"

namespace assay::run {

// {"commit", "clean"}: what the build recorded, else what ASSAY_SOURCE_COMMIT states, whose `clean`
// is null; null without either.
nlohmann::json source_state(const Installation& installation);

// What the cases of a session are measured with, as docs/results.md lists it. plugins: files named
// with --plugin.
nlohmann::json collect_provenance(const Installation& installation,
                                  const catalogue::Catalogue& catalogue,
                                  const config::Experiment& experiment,
                                  const std::vector<std::string>& plugins, bool allow_external);

// Identity of the files that measure a case: the worker library and the plugins, for an external
// variant also its program and the helper module. A changed file is hashed again.
class BuildIdentity {
 public:
  explicit BuildIdentity(const Installation& installation) : installation_(installation) {}
  // The case's files now: path and SHA-256, in the order that identity() needs.
  using Files = std::vector<std::pair<std::string, std::string>>;
  Files files(const ResolvedCase& resolved);
  static std::string identity(const Files& files);
  // {"files": {"plugins/attention/flash.so": its SHA-256, …}}; paths are relative to this assay's
  // folder where they lie in it.
  nlohmann::json describe(const Files& files) const;
  // How often a file's contents have changed.
  std::size_t changes() const { return changes_; }

 private:
  // A file with an equal stamp is unchanged: device, inode, size, mtime and ctime.
  using Stamp = std::array<std::int64_t, 7>;
  struct Hashed {
    Stamp stamp;
    std::string sha256;
  };

  static Stamp stamp_of(const std::string& file);
  std::vector<std::string> files_of(const ResolvedCase& resolved) const;
  const std::string& hash(const std::string& file);
  std::vector<std::string> helper_files() const;

  const Installation& installation_;
  std::map<std::string, Hashed> hashes_;
  std::size_t changes_ = 0;
};

// Names of the files that differ between the two, or are missing from one.
std::vector<std::string> changed_between(const BuildIdentity::Files& before,
                                         const BuildIdentity::Files& after);

}  // namespace assay::run
