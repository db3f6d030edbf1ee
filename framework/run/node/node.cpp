#include "run/node/node.h"

#include <filesystem>

#include "base/text.h"

namespace assay::run {

NodeIdentity this_node() {
  NodeIdentity node;
  if (const auto text = read_file("/proc/sys/kernel/random/boot_id")) {
    node.boot_id = std::string(trim(*text));
  }
  std::error_code unreadable;
  node.network = std::filesystem::read_symlink("/proc/self/ns/net", unreadable).string();
  return node;
}

}  // namespace assay::run
