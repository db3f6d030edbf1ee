#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay::test {

// What a page of docs/ has for a reader to try: the code blocks that follow `<!-- file: NAME -->`,
// and the command lines of `assay` that follow `<!-- command -->`, as arguments.
struct Page {
  std::map<std::string, std::string> files;
  std::vector<std::vector<std::string>> commands;
};

// `name`: relative to the source tree.
Page read_page(const std::string& name);

}  // namespace assay::test
