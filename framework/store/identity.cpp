#include "store/identity.h"

#include "base/text.h"

namespace assay::store {

std::string case_key_text(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (!text.empty()) text += ", ";
    text += name + "=" + to_text(value);
  }
  return text;
}

void set_key(CaseResult& result) {
  result.key_text = case_key_text(result.parameters);
  result.key = sha256_hex(result.key_text);
}

void set_outcome_from_series(CaseResult& result) {
  for (const Series& series : result.series) {
    if (series.outcome == Outcome::ok) continue;
    result.outcome = series.outcome;
    result.reason = series.reason;
    return;
  }
}

}  // namespace assay::store
