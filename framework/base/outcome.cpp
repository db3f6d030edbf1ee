#include "base/outcome.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array<std::string_view, 8> names = {"ok",    "oom",     "unsupported", "wrong",
                                                   "error", "crashed", "timeout",     "skipped"};

}  // namespace

const std::vector<std::string>& outcome_names() {
  static const std::vector<std::string> texts(names.begin(), names.end());
  return texts;
}

std::string_view to_text(Outcome outcome) { return names[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> outcome_from_text(std::string_view text) {
  const auto* const found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Outcome>(found - names.begin());
}

}  // namespace assay
