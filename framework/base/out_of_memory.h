#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Whether the text of an error means that memory, of the host or of a GPU, ran out.
bool means_out_of_memory(std::string_view message);

// What an allocator of LibTorch says when it cannot allocate, in one sentence that names what was
// asked for and what was free. Nothing for any other text.
std::optional<std::string> out_of_memory_in_words(std::string_view message);

}  // namespace assay
