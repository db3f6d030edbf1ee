#include <dlfcn.h>
#include <fmt/format.h>

#include "base/output.h"
#include "base/shared_library.h"
#include "cli/commands/commands.h"
#include "run/process/installation.h"

namespace assay::cli {

namespace {

Usage worker_usage() {
  return {
      "worker",
      "ROLE …",
      "Runs what needs LibTorch: one rank of a case, the catalogue of plugins, or a conformance\n"
      "suite. assay starts it and controls it over a connection.",
      "assay worker serve",
      po::options_description("Options"),
      {}};
}

}  // namespace

// Only this command loads LibTorch; the others start in milliseconds without it.
Result<ExitCode> worker_command(const Arguments& arguments) {
  if (arguments == Arguments{"--help"} || arguments == Arguments{"-h"}) {
    print_out("{}", worker_usage().text());
    return ExitCode::ok;
  }
  const auto installation = run::find_installation();
  if (!installation) return tl::unexpected(installation.error());
  std::error_code error;
  boost::dll::shared_library library(
      installation->worker_library.string(),
      boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_global, error);
  if (error) {
    // dlerror() says why, after the file's name; Boost says only that loading failed.
    const char* why = ::dlerror();
    return fail(
        ExitCode::machine_lacks,
        fmt::format(
            "the worker library cannot be loaded: {}",
            why == nullptr ? installation->worker_library.string() + ": " + error.message() : why),
        "build it with LibTorch, or put LibTorch's lib folder into LD_LIBRARY_PATH");
  }
  const auto entry = library.get<int(int, char**)>("assay_worker_main");
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return static_cast<ExitCode>(entry(static_cast<int>(pointers.size()), pointers.data()));
}

}  // namespace assay::cli
