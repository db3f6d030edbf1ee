#pragma once

#include <string>

#include "yaml/document.h"

namespace assay::yaml {

// YAML that reads back as the same node: a mapping in block style, whose values are written in flow
// style, each on a line; any other node in flow style on one line. Comments are lost.
std::string to_yaml(const Node& node);

// In flow style on one line: "[small, {tiled: {block_m: 64}}]".
std::string to_flow(const Node& node);

}  // namespace assay::yaml
