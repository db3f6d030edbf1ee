#pragma once

#include <filesystem>
#include <string>

namespace assay::run {

// A folder of its own among the temporary files, readable by this user only, removed with
// everything in it.
class TemporaryFolder {
 public:
  // purpose: a word of its name, "exchange".
  explicit TemporaryFolder(const std::string& purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty where no folder could be made.
  const std::filesystem::path& path() const { return path_; }
  // Why there is none.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path path_;
  std::string problem_;
};

}  // namespace assay::run
