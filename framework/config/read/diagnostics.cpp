#include "config/read/diagnostics.h"

#include <algorithm>
#include <tuple>

namespace assay::config {

void Diagnostics::add(const SourceLocation& where, std::string message, std::string hint) {
  diagnostics_.push_back({where, std::move(message), std::move(hint)});
}

void Diagnostics::add(const Error& error) {
  diagnostics_.insert(diagnostics_.end(), error.diagnostics.begin(), error.diagnostics.end());
}

Error Diagnostics::take() {
  const auto place = [&](const Diagnostic& diagnostic) {
    const SourceLocation& where = diagnostic.where;
    return std::tuple(where.file != file_, where.file, where.line, where.column);
  };
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  return {ExitCode::bad_input, std::move(diagnostics_)};
}

}  // namespace assay::config
