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

}  // namespace assay::test
