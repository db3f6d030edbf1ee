#pragma once

#include <filesystem>

namespace assay::catalogue {

// Beside the catalogue that a worker is writing: the name of the library it is looking at. A
// library that ends its process is known by it. Gone when the worker has looked at all of them.
inline std::filesystem::path looked_at_beside(const std::filesystem::path& output) {
  return output.string() + ".library";
}

}  // namespace assay::catalogue
