#pragma once

// base holds what every room needs: errors and results, values and texts, units, files, output. It
// knows no benchmarks and depends on no other room. Start with error.h and text.h.

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace assay {

// Documented in the README.
enum class ExitCode : int {
  ok = 0,
  some_case_not_ok = 1,
  bad_input = 2,
  machine_lacks = 3,
  results_unreadable = 4,
};

// A place in a user's file. Lines and columns count from 1; 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

// One mistake: where, what, and what would be right.
struct Diagnostic {
  SourceLocation where;
  std::string message;
  std::string hint;

  // "file:line:column: message; hint", without the unknown parts, and of a long value the
  // beginning.
  std::string text() const;
};

// All mistakes of one request; text() has a line for each.
struct Error {
  ExitCode exit_code = ExitCode::bad_input;
  std::vector<Diagnostic> diagnostics;

  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;

tl::unexpected<Error> fail(ExitCode exit_code, std::string message, std::string hint = {});
tl::unexpected<Error> fail_at(SourceLocation where, std::string message, std::string hint = {});

}  // namespace assay
