#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::test {

struct Ended {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string output;
  std::string errors;
};

// Runs the built assay in `folder` and waits for it.
Ended assay(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

// A folder of its own for a test, removed when it ends.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  std::string read(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

std::string fixture(const std::string& name);

}  // namespace assay::test
