#pragma once

#include <filesystem>

#include "config/experiment.h"

namespace assay::config {

// A hand-made catalogue: the names, options and bounds of the shipped plugins, `attention/tiled`
// with every type of option, `attention/strict`, whose option has no default, and the external
// `compile/torch_eager` for model_step only.
const catalogue::Catalogue& test_catalogue();

// The catalogue with the repository's configs/.
Environment test_environment();

}  // namespace assay::config
