#include "base/case_key.h"

namespace assay {

std::string case_key_text(const std::map<std::string, Value>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (!text.empty()) text += ", ";
    text += name + "=" + to_text(value);
  }
  return text;
}

}  // namespace assay
