#include <assay/outcome.h>

#include <array>

namespace assay {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 8> names = {"ok",    "oom",     "unsupported", "wrong",
                                                   "error", "crashed", "timeout",     "skipped"};

}  // namespace

std::string_view to_text(Outcome outcome) { return names[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> outcome_from_text(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

}  // namespace assay
