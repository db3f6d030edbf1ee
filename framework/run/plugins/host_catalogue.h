#pragma once

#include <filesystem>
#include <vector>

#include "catalogue/catalogue.h"
#include "run/workers/installation.h"

namespace assay::run {

// What the host knows of plugins: the shipped libraries and external descriptors, and any named
// on the command line: a library (.so), a source that is built first (run/plugins/plugin_source.h),
// or the descriptor of an external variant (.yaml). The libraries' part is written by a worker and
// kept beside the caches; it is made anew when a file has changed. A library that hangs or fills
// the memory as it is looked at is stopped and named.
Result<catalogue::Catalogue> load_catalogue(const Installation& installation,
                                            const std::vector<std::filesystem::path>& more = {});

}  // namespace assay::run
