#include "expression/unknown_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/renamed_variants.h"

namespace assay {

std::string unknown_names(const Expression& expression, const TextsOf& texts_of) {
  std::vector<std::string> unknown;
  for (const auto& [word, name] : expression.uses()) {
    const std::vector<std::string> texts = texts_of(name);
    const bool is_text = !texts.empty() && texts_of(word).empty();
    if (!is_text || std::find(texts.begin(), texts.end(), word) != texts.end()) continue;
    unknown.push_back(
        fmt::format("no case has {} '{}'{}", name, word, variant_suggestion(name, word, texts)));
  }
  return join(unknown, "; ");
}

}  // namespace assay
