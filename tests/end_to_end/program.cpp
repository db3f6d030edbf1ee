#include "program.h"

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

}  // namespace assay::test
