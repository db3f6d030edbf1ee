#pragma once

#include <filesystem>

#include "base/error.h"

namespace assay::run {

// The parts of this assay, found from the running program's folder in a build tree
// (build/<preset>/bin) or an installed one (bin, lib, share/assay).
struct Installation {
  std::filesystem::path executable;
  std::filesystem::path worker_library;  // may not exist: a build without LibTorch
  std::filesystem::path plugins;         // <kind>/<name>.so
  std::filesystem::path data;            // holds configs/ and tools/peers/

  std::filesystem::path configs() const { return data / "configs"; }
  std::filesystem::path peers() const { return data / "tools" / "peers"; }
  // {"commit", "clean"} of the sources; a build without git has no such file.
  std::filesystem::path source() const {
    return worker_library.parent_path() / "assay/source.json";
  }
  std::filesystem::path experiments() const { return data / "experiments"; }
};

Result<Installation> find_installation();

// Holds files that can be made again: $ASSAY_CACHE, else the user's cache folder.
std::filesystem::path cache_folder();

}  // namespace assay::run
