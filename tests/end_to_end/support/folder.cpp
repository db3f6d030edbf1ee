#include "folder.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>

namespace assay::test {

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "assay-test-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name) << content;
  return (path_ / name).string();
}

std::string Folder::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path_ / name).rdbuf();
  return text.str();
}

std::string fixture(const std::string& name) {
  return ASSAY_BUILD_DIR "/tests/fixtures/" + name + ".so";
}

}  // namespace assay::test
