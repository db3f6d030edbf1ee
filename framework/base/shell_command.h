#pragma once

#include <string>
#include <vector>

namespace assay {

// The program as its user called it: "assay", "tools/assay", "build/release/bin/assay".
std::string called_as();
// Names the program so in the commands of a hint: "`assay list runs`".
std::string as_called(std::string text);

// Quotes any words so that a POSIX shell reads them back: 'it'\''s'.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace assay
