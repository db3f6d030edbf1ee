#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay::test {

// The examples of a page of docs/: the code blocks after `<!-- file: NAME -->`, and the command
// lines of `assay` after `<!-- command -->`, as arguments.
struct Page {
  std::map<std::string, std::string> files;
  std::vector<std::vector<std::string>> commands;
};

// `name`: relative to the source tree.
Page read_page(const std::string& name);

}  // namespace assay::test
