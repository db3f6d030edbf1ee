#pragma once

#include <filesystem>
#include <vector>

#include "catalogue/catalogue.h"
#include "run/process/installation.h"

namespace assay::run {

// Lists the shipped libraries and external descriptors and those named on the command line: a
// library (.so), a source or a folder, which is built first (run/plugins/plugin_source.h), or the
// descriptor of an external variant (.yaml). A worker lists the libraries; the list is cached until
// a file changes. The error names a library that hangs or fills the memory while it loads.
Result<catalogue::Catalogue> load_catalogue(const Installation& installation,
                                            const std::vector<std::filesystem::path>& more = {});

}  // namespace assay::run
