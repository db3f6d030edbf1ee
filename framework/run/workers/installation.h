#pragma once

#include <filesystem>

#include "base/error.h"

namespace assay::run {

// Where the parts of this assay are, found from the place of the running program: a build tree
// (build/<preset>/bin) and an installed one (bin, lib, share/assay) look the same from here.
struct Installation {
  std::filesystem::path executable;
  std::filesystem::path worker_library;  // may not exist: a build without LibTorch
  std::filesystem::path plugins;         // <kind>/<name>.so
  std::filesystem::path data;            // holds configs/ and tools/peers/

  std::filesystem::path configs() const { return data / "configs"; }
  std::filesystem::path peers() const { return data / "tools" / "peers"; }
  // What it was built from, {"commit", "clean"}; a build without git has no such file.
  std::filesystem::path source() const {
    return worker_library.parent_path() / "assay/source.json";
  }
  std::filesystem::path experiments() const { return data / "experiments"; }
};

Result<Installation> find_installation();

// For what is kept between runs and can be made again: $ASSAY_CACHE, else the user's cache folder.
std::filesystem::path cache_folder();

}  // namespace assay::run
