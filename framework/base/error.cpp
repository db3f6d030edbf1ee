#include "base/error.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace assay {

std::string Diagnostic::text() const {
  std::string place;
  if (!where.file.empty()) {
    place = where.line > 0 ? fmt::format("{}:{}:{}: ", where.file, where.line, where.column)
                           : where.file + ": ";
  } else if (where.line > 0) {
    place = fmt::format("line {}, column {}: ", where.line, where.column);
  }
  const std::string what = shortened(message);
  return hint.empty() ? place + what : place + what + "; " + shortened(hint);
}

std::string Error::text() const {
  std::string lines;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!lines.empty()) lines += '\n';
    lines += diagnostic.text();
  }
  return lines;
}

tl::unexpected<Error> fail(ExitCode exit_code, std::string message, std::string hint) {
  return tl::unexpected<Error>(
      Error{exit_code, {Diagnostic{{}, std::move(message), std::move(hint)}}});
}

tl::unexpected<Error> fail_at(SourceLocation where, std::string message, std::string hint) {
  return tl::unexpected<Error>(Error{
      ExitCode::bad_input, {Diagnostic{std::move(where), std::move(message), std::move(hint)}}});
}

}  // namespace assay
