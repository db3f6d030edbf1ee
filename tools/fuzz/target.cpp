#include "target.h"

#include <cstdio>
#include <cstdlib>

namespace assay::fuzz {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", what);
  std::abort();
}

void require_explained(const Error& error) {
  require(error.exit_code != ExitCode::ok, "an error has an exit code");
  require(!error.diagnostics.empty(), "an error says something");
  for (const Diagnostic& diagnostic : error.diagnostics) {
    require(!diagnostic.message.empty(), "a message says something");
    require(diagnostic.where.line >= 0 && diagnostic.where.column >= 0, "places are not negative");
  }
}

}  // namespace assay::fuzz
