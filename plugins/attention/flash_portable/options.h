#pragma once

#include <assay/attention.h>

#include <vector>

#include "tile_options.h"

namespace assay::flash_portable {

// Of `flash_portable` with and without its kernels, so that an experiment is as valid in either
// build.
inline std::vector<ParameterInfo> options() {
  return {compiled_parameter("tile_queries", tile_queries, {0, 16, 32, 64, 128, 256},
                             "Queries of a tile; 0: what suits pass, head size and dtype."),
          compiled_parameter("tile_keys", tile_keys, {0, 16, 32, 64, 128, 256},
                             "Keys of a tile; 0: what suits pass, head size and dtype.")};
}

}  // namespace assay::flash_portable
