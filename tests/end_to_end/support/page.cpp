#include "page.h"

#include <fstream>
#include <stdexcept>

#include "base/text.h"

namespace assay::test {

namespace {

// The lines between the next fence and the one that closes it.
std::string code_block(std::istream& stream) {
  std::string text;
  std::string line;
  while (std::getline(stream, line) && !line.starts_with("```")) {
  }
  while (std::getline(stream, line) && !line.starts_with("```")) text += line + "\n";
  return text;
}

}  // namespace

Page read_page(const std::string& name) {
  Page page;
  std::ifstream stream(ASSAY_SOURCE_DIR "/" + name);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("<!-- file: ")) {
      const std::string file = line.substr(11, line.find(" -->") - 11);
      page.files[file] = code_block(stream);
    } else if (line.starts_with("<!-- command")) {
      auto words = split(std::string(trim(code_block(stream))), ' ');
      if (words.front() != "assay") throw std::runtime_error(name + ": not a command of assay");
      page.commands.emplace_back(words.begin() + 1, words.end());
    }
  }
  return page;
}

}  // namespace assay::test
