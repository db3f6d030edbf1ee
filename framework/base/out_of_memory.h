#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Whether an error's text, or what assay makes of it, means that host or GPU memory ran out.
bool means_out_of_memory(std::string_view message);

// A LibTorch allocator's message as "X asked for, Y of Z free"; nullopt for any other text.
std::optional<std::string> out_of_memory_in_words(std::string_view message);

}  // namespace assay
