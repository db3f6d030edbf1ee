#include <dlfcn.h>
#include <fmt/format.h>

#include <iostream>

#include "base/output.h"
#include "base/shared_library.h"
#include "cli/commands/commands.h"
#include "run/node/rank_agent.h"
#include "run/process/installation.h"
#include "wire/messages.h"

namespace assay::cli {

namespace {

Usage worker_usage() {
  return {"worker",
          "[ROLE …]",
          "Runs the ranks that a host asks for, as a launch engine starts it: torchrun, mpirun or "
          "srun,\n"
          "whose variables tell its place. ASSAY_CONTROL and ASSAY_TOKEN name the host, which\n"
          "`assay run --launcher wait` prints; with --stdin they are the first two lines of its "
          "input.\n"
          "With a role it runs what needs LibTorch: one rank of a case, the catalogue of plugins, "
          "or a\n"
          "conformance suite. assay starts it so.",
          "assay worker    # started by torchrun --no-python, mpirun or srun",
          po::options_description("Options"),
          {}};
}

Result<ExitCode> serve_host(const run::Installation& installation, bool from_input) {
  const auto variables = run::own_variables();
  run::HostPlace host{variables(wire::control_variable).value_or(""),
                      variables(wire::token_variable).value_or("")};
  if (from_input) {
    std::getline(std::cin, host.control);
    std::getline(std::cin, host.token);
  }
  if (host.control.empty() || host.token.empty()) {
    return fail(ExitCode::bad_input,
                fmt::format("no host is named: {} and {} are not set", wire::control_variable,
                            wire::token_variable),
                "`assay run FILE --launcher wait` prints them");
  }
  const auto place = run::place_by_engine(variables);
  if (!place) return tl::unexpected(place.error());
  if (auto served = run::serve_agent(installation, *place, host); !served) {
    return tl::unexpected(served.error());
  }
  return ExitCode::ok;
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
  if (arguments.empty() || arguments == Arguments{"--stdin"}) {
    return serve_host(*installation, !arguments.empty());
  }
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
        "`assay doctor` says what is gone; build it with LibTorch, or put LibTorch's lib folder "
        "into "
        "LD_LIBRARY_PATH");
  }
  const auto entry = library.get<int(int, char**)>("assay_worker_main");
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return static_cast<ExitCode>(entry(static_cast<int>(pointers.size()), pointers.data()));
}

}  // namespace assay::cli
