#pragma once

#include <cstdlib>
#include <string>

namespace assay::test {

// ASSAY_BUILD_DIR in the environment names a copy on another machine.
inline std::string build_folder() {
  const char* moved = std::getenv("ASSAY_BUILD_DIR");
  return moved == nullptr ? ASSAY_BUILD_DIR : moved;
}

}  // namespace assay::test
