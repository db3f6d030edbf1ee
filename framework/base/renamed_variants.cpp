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

std::string_view new_name(std::string_view kind, std::string_view name,
                          const std::vector<std::string>& known) {
  const std::string_view now = name_now(kind, name);
  const bool is_anothers = std::ranges::any_of(
      renamed, [&](const Renamed& each) { return each.kind == kind && each.now == name; });
  return is_anothers && std::ranges::count(known, now) == 0 ? std::string_view() : now;
}

std::string variant_suggestion(std::string_view kind, std::string_view name,
                               const std::vector<std::string>& known) {
  const std::string_view now = new_name(kind, name, known);
  return now.empty() ? suggestion(name, known) : fmt::format("; it is now called '{}'", now);
}

}  // namespace assay
