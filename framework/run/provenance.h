#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "run/installation.h"
#include "run/resolve.h"

namespace assay::run {

// What a run was made with: fingerprint and versions, the source's commit and whether it was
// clean, environment variables that change results.
nlohmann::json collect_provenance(const Installation& installation,
                                  const catalogue::Catalogue& catalogue);

// Identity of the binaries that measure a case: the worker library and the plugins' files;
// of an external variant its program and the helper module.
class BuildIdentity {
 public:
  explicit BuildIdentity(const Installation& installation) : installation_(installation) {}
  std::string of(const ResolvedCase& resolved);

 private:
  const std::string& hash(const std::string& file);
  std::vector<std::string> helper_files() const;

  const Installation& installation_;
  std::map<std::string, std::string> hashes_;
};

}  // namespace assay::run
