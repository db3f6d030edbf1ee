#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "folder.h"

namespace assay::test {

struct Ended {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string output;
  std::string errors;
};

// Runs the built assay in `folder` and waits for it.
Ended assay(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

// The same for the program that `words` begin with.
Ended program(const std::filesystem::path& folder, const std::vector<std::string>& words);

// Runs the built assay in a terminal of 200 columns, without colours; `output` has all that it
// shows.
Ended assay_at_terminal(const std::filesystem::path& folder,
                        const std::vector<std::string>& arguments);

// A program whose standard streams are a terminal of 200 columns; its other side is `terminal`.
struct AtTerminal {
  int terminal = -1;
  int child = -1;  // its process id; below 0: no terminal can be made
};
AtTerminal start_at_terminal(const std::filesystem::path& folder,
                             const std::vector<std::string>& words);

// Installs the program in `folder`, without plugins and with `worker` as the worker library.
// Returns the program's path.
std::string install_alone(const Folder& folder, const std::string& worker);

}  // namespace assay::test
