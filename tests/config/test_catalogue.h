#pragma once

#include <filesystem>

#include "config/experiment.h"

namespace assay::config {

// A catalogue made by hand: the names, options and bounds of the shipped plugins, and beside them
// `attention/tiled`, which has every sort of option, `attention/strict`, whose option has no
// default, and the external `compile/torch_eager`, which takes part in model_step only.
const catalogue::Catalogue& test_catalogue();

// That catalogue and the repository's configs/.
Environment test_environment();

}  // namespace assay::config
