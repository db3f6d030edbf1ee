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
  auto process = run::Process::start(command);
  if (!process) return {-1, {}, process.error().text()};
  Ended ended;
  bool output_open = true;
  bool errors_open = true;
  while (output_open || errors_open) {
    output_open = output_open && run::drain(process->output(), ended.output);
    errors_open = errors_open && run::drain(process->errors(), ended.errors);
    if (process->ended()) {
      run::drain(process->output(), ended.output);
      run::drain(process->errors(), ended.errors);
      break;
    }
  }
  const run::ProcessEnd end = process->wait();
  ended.exit_code = end.signalled ? 128 + end.number : end.number;
  return ended;
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
