#pragma once

#include <filesystem>
#include <string>

namespace assay::run {

// A new folder among the temporary files, readable by this user only. The destructor removes it
// with its contents.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty where no folder could be made.
  const std::filesystem::path& path() const { return path_; }
  // Why there is none; "" where there is one.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path path_;
  std::string problem_;
};

}  // namespace assay::run
