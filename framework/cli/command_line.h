#pragma once

#include <string>
#include <vector>

namespace assay::cli {

// The words as a POSIX shell reads them back, whatever is in them: 'it'\''s'.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace assay::cli
