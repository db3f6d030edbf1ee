#include "program.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "run/process.h"

namespace assay::test {

Ended assay(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  run::Process::Command command;
  command.arguments = {"env", "-C", folder.string(), ASSAY_BUILD_DIR "/bin/assay"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment["ASSAY_CACHE"] = (folder / "cache").string();
  const auto done = run::capture(command);
  if (!done) return {-1, {}, done.error().text()};
  return {done->end.signalled ? 128 + done->end.number : done->end.number, done->output,
          done->errors};
}

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
