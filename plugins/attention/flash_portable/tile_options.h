#pragma once

// assay builds the library anew for another tile (docs/plugins.md, "Options that are compiled in").
#ifndef ASSAY_OPTION_TILE_QUERIES
#define ASSAY_OPTION_TILE_QUERIES 0
#endif
#ifndef ASSAY_OPTION_TILE_KEYS
#define ASSAY_OPTION_TILE_KEYS 0
#endif

namespace assay::flash_portable {

inline constexpr int tile_queries = ASSAY_OPTION_TILE_QUERIES;  // 0: default_sizes of tile.cuh
inline constexpr int tile_keys = ASSAY_OPTION_TILE_KEYS;

}  // namespace assay::flash_portable
