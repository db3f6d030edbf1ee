#include <fmt/format.h>

#include "base/shared_library.h"
#include "cli/commands.h"
#include "run/installation.h"

namespace assay::cli {

// Everything that needs LibTorch is behind this one library, so that the other commands start in
// milliseconds and run where LibTorch is not installed.
Result<ExitCode> worker_command(const Arguments& arguments) {
  const auto installation = run::find_installation();
  if (!installation) return tl::unexpected(installation.error());
  std::error_code error;
  boost::dll::shared_library library(
      installation->worker_library.string(),
      boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_global, error);
  if (error) {
    return fail(ExitCode::machine_lacks,
                fmt::format("{} cannot be loaded: {}", installation->worker_library.string(),
                            error.message()),
                "build it with LibTorch, or put LibTorch's lib folder into LD_LIBRARY_PATH");
  }
  const auto entry = library.get<int(int, char**)>("assay_worker_main");
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return static_cast<ExitCode>(entry(static_cast<int>(pointers.size()), pointers.data()));
}

}  // namespace assay::cli
