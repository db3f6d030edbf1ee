#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "wire/messages.h"
#include "worker/check.h"
#include "worker/serve.h"

// The only symbol the host takes from this library.
// Arguments: `serve`, `catalogue OUTPUT FOLDER [FILE…]`, or `check OUTPUT REQUEST`.
extern "C" __attribute__((visibility("default"))) int assay_worker_main(int argc, char** argv) {
  const std::string_view role = argc > 0 ? argv[0] : "";
  // What c10d's flight recorder keeps of the first 2000 collectives would count as a case's.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
  int code = 2;
  if (role == "serve") {
    code = assay::worker::serve();
  } else if (role == "catalogue" && argc >= 3) {
    code = assay::worker::write_catalogue(argv[1], argv[2], {argv + 3, argv + argc});
  } else if (role == "check" && argc == 3) {
    code = assay::worker::check(argv[1], argv[2]);
  } else {
    fmt::print(stderr,
               "a worker is started as `serve`, `catalogue OUTPUT FOLDER [FILE…]` or "
               "`check OUTPUT REQUEST`\n");
  }
  // A profiler that started this process writes what it saw at exit.
  if (std::getenv(assay::wire::under_variable) != nullptr) std::exit(code);
  // Skips static destructors of LibTorch and plugins, whose order is undefined.
  std::fflush(nullptr);
  ::_exit(code);
}
