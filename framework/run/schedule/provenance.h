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
#include "run/workers/installation.h"

namespace assay::run {

// What the cases of a session are measured with, as docs/results.md lists it: fingerprint and
// versions, the commit the program was built from and whether the tree was clean then (null where
// nobody knows), environment variables, the experiment's
// hash and the configs it names, and what the command line added (`plugins`: files named with
// --plugin; `allow_external`).
nlohmann::json collect_provenance(const Installation& installation,
                                  const catalogue::Catalogue& catalogue,
                                  const config::Experiment& experiment,
                                  const std::vector<std::string>& plugins, bool allow_external);

// Identity of the binaries that measure a case: the worker library and the plugins' files;
// of an external variant its program and the helper module. A file is hashed again once it has
// changed.
class BuildIdentity {
 public:
  explicit BuildIdentity(const Installation& installation) : installation_(installation) {}
  // The case's files as they are now, each path with its SHA-256, in the order that identifies
  // them.
  using Files = std::vector<std::pair<std::string, std::string>>;
  Files files(const ResolvedCase& resolved);
  static std::string identity(const Files& files);
  // {"files": {"plugins/attention/flash.so": its SHA-256, …}}: those of this assay relative to its
  // folder, others as they are named.
  nlohmann::json describe(const Files& files) const;
  // How often a file had other contents than before.
  std::size_t changes() const { return changes_; }

 private:
  // By which a file is taken to be the same: device, inode, size, times of its contents and its
  // inode.
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

// Names of those that are not in both or have other contents.
std::vector<std::string> changed_between(const BuildIdentity::Files& before,
                                         const BuildIdentity::Files& after);

}  // namespace assay::run
