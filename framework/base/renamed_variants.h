#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// What the variant that an earlier version called `before` is called now; "" where none was called
// so. Another variant may have the name since: LibTorch's `flash` is `flash_libtorch`, and `flash`
// the project's own.
std::string_view name_now(std::string_view kind, std::string_view before);

// The same of a variant that is not among the known ones, for a hint. "" also where the name is
// another variant's now and only that one can be meant.
std::string_view new_name(std::string_view kind, std::string_view name,
                          const std::vector<std::string>& known);

// Behind the complaint that a kind has no such variant: "; it is now called 'math_libtorch'", else
// suggestion().
std::string variant_suggestion(std::string_view kind, std::string_view name,
                               const std::vector<std::string>& known);

}  // namespace assay
