#pragma once

#include <filesystem>

#include "config/experiment.h"

namespace assay::config {

// What the shipped plugins declare, as a build with CUDA describes them: written by tools/docs, so
// that tests without the plugins read shipped experiments and layouts as the program does.
std::filesystem::path shipped_plugins_file();

// With the external variants that ship beside them.
const catalogue::Catalogue& shipped_catalogue();

// The catalogue with the repository's configs/.
Environment shipped_environment();

}  // namespace assay::config
