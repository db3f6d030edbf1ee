#pragma once

#include <filesystem>

namespace assay::catalogue {

// A file beside a worker's output that names the library being loaded, and so a library that ends
// the worker. The worker removes it at the end.
inline std::filesystem::path looked_at_beside(const std::filesystem::path& output) {
  return output.string() + ".library";
}

}  // namespace assay::catalogue
