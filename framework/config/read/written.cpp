#include <algorithm>

#include "config/experiment.h"
#include "config/read/request.h"
#include "yaml/values.h"

namespace assay::config {
namespace {

void add_value(const std::string& axis, const yaml::Node& node, Written& written) {
  std::vector<Value>& known = written.values[axis];
  const Value value = yaml::to_value(node);
  if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(value);
}

// attention: {flash: {block_m: [64, 128]}} adds flash, and both values to attention.block_m.
void add_values(const std::string& axis, const yaml::Node& node, Written& written) {
  if (node.is_scalar()) add_value(axis, node, written);
  for (const yaml::Node& item : node.items) add_values(axis, item, written);
  for (const auto& [name, options] : node.entries) {
    add_value(axis, name, written);
    for (const auto& [option, value] : options.entries) {
      add_values(axis + "." + option.text, value, written);
    }
  }
}

}  // namespace

Written written_in(const Request& request) {
  Written written;
  if (request.workload) written.workload = request.workload->text;
  written.report = request.report;
  for (const Setting& axis : request.matrix) written.axes.push_back(axis.name);
  for (const auto* section : {&request.matrix, &request.fixed}) {
    for (const Setting& setting : *section) add_values(setting.name, setting.value, written);
  }
  for (const yaml::Node& entry : request.include) {
    for (const auto& [name, value] : entry.entries) add_values(name.text, value, written);
  }
  if (const Setting* machine = find_setting(request.matrix, "machine")) {
    written.machine = machine->value.where;
  }
  if (!request.passes) return written;
  written.passes.emplace();
  for (const yaml::Node& pass : request.passes->one_or_more()) {
    if (pass.is_scalar()) written.passes->push_back(pass.text);
  }
  return written;
}

Result<Written> read_written(const std::string& text, const std::string& file_name) {
  if (text.empty()) return Written();
  const auto root = yaml::parse(text, file_name);
  if (!root) return tl::unexpected(root.error());
  Diagnostics ignored(file_name);
  return written_in(read_request(*root, ignored));
}

}  // namespace assay::config
