#pragma once

#include <string>
#include <vector>

namespace assay {

// Quotes any words so that a POSIX shell reads them back: 'it'\''s'.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace assay
