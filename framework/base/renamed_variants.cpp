#include "base/renamed_variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay {
namespace {

struct Renamed {
  std::string_view kind, before, now;
};

constexpr Renamed renamed[] = {{"attention", "math", "math_libtorch"},
                               {"attention", "efficient", "efficient_libtorch"},
                               {"attention", "flash", "flash_libtorch"},
                               {"attention", "cudnn", "cudnn_libtorch"},
                               {"attention", "flash_hopper", "flash"}};

}  // namespace

std::string_view name_now(std::string_view kind, std::string_view before) {
  const auto found = std::ranges::find_if(
      renamed, [&](const Renamed& each) { return each.kind == kind && each.before == before; });
  return found == std::ranges::end(renamed) ? std::string_view() : found->now;
}

std::string variant_suggestion(std::string_view kind, std::string_view name,
                               const std::vector<std::string>& known) {
  const std::string_view now = name_now(kind, name);
  if (now.empty() || std::ranges::count(known, now) == 0) return suggestion(name, known);
  return fmt::format("; it is now called '{}'", now);
}

}  // namespace assay
