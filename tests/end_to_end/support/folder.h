#pragma once

#include <filesystem>
#include <string>

namespace assay::test {

// A temporary folder, removed at the end of the test.
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

// A library of tests/fixtures, for --plugin.
std::string fixture(const std::string& name);

}  // namespace assay::test
