#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "base/text.h"
#include "source_root.h"
#include "yaml/document.h"

// docs/catalogue.md names the experiment and the layout of every deliverable.
namespace assay::report {
namespace {

namespace fs = std::filesystem;

std::string page() {
  const auto text = read_file((source_root / "docs/catalogue.md").string());
  if (!text) ADD_FAILURE() << text.error().text();
  return text ? *text : "";
}

struct Link {
  std::string file, heading;  // "#heading" is optional
};

std::vector<Link> links_of(const std::string& text) {
  static const std::regex link("\\]\\(([^)#]*)(#[^)]*)?\\)");
  std::vector<Link> links;
  for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
    links.push_back({(*at)[1], (*at)[2]});
  }
  return links;
}

fs::path file_of(const Link& link) { return (source_root / "docs" / link.file).lexically_normal(); }

// An experiment is a mapping, a layout a list of blocks.
bool is_layout(const Link& link) {
  return link.file.ends_with(".yaml") && link.file.find("experiments/") == std::string::npos;
}

// GitHub's anchor of a heading.
std::set<std::string> headings_of(const fs::path& file) {
  std::set<std::string> headings;
  for (const std::string& line : split(*read_file(file.string()), '\n')) {
    const std::size_t start = line.find_first_not_of('#');
    if (start == 0 || start == std::string::npos || line[start] != ' ') continue;
    std::string name = "#";
    for (const char c : line.substr(start + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ' ') name += '-';
      if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
        name += static_cast<char>(std::tolower(byte));
      }
    }
    headings.insert(name);
  }
  return headings;
}

TEST(Catalogue, HasARowForEveryDeliverable) {
  std::vector<std::string> expected, present;
  for (const auto& [section, count] : std::vector<std::pair<char, int>>{{'A', 9},
                                                                        {'B', 8},
                                                                        {'C', 3},
                                                                        {'D', 6},
                                                                        {'E', 12},
                                                                        {'F', 4},
                                                                        {'G', 5},
                                                                        {'H', 6},
                                                                        {'I', 4},
                                                                        {'J', 5}}) {
    for (int i = 1; i <= count; ++i) expected.push_back(section + std::to_string(i));
  }
  static const std::regex row("^\\| ([A-J][0-9]+) \\|");
  for (const std::string& line : split(page(), '\n')) {
    std::smatch found;
    if (std::regex_search(line, found, row)) present.push_back(found[1]);
  }
  EXPECT_EQ(present, expected);
}

// Rows that a report cannot show: a profiler's picture, and a derivation.
const std::set<std::string> without_layout{"B8", "F4"};

TEST(Catalogue, NamesALayoutForEveryRow) {
  static const std::regex row("^\\| ([A-J][0-9]+) \\|[^|]*\\|([^|]*)\\|");
  for (const std::string& line : split(page(), '\n')) {
    std::smatch found;
    if (!std::regex_search(line, found, row) || without_layout.contains(found[1])) continue;
    const auto links = links_of(found[2]);
    EXPECT_TRUE(std::any_of(links.begin(), links.end(), is_layout)) << line;
  }
}

TEST(Catalogue, LinksLeadSomewhere) {
  const auto links = links_of(page());
  EXPECT_GT(links.size(), 100u);
  for (const Link& link : links) {
    EXPECT_TRUE(fs::exists(file_of(link))) << link.file;
    if (!link.heading.empty() && fs::exists(file_of(link))) {
      EXPECT_EQ(headings_of(file_of(link)).count(link.heading), 1u) << link.file << link.heading;
    }
    if (is_layout(link)) {
      const auto layout = yaml::parse_file(file_of(link).string());
      EXPECT_TRUE(layout && layout->is_sequence()) << link.file;
    }
  }
}

TEST(Catalogue, NamesEveryLayoutAndEveryGoldenTable) {
  std::set<fs::path> linked;
  for (const Link& link : links_of(page())) linked.insert(file_of(link));
  for (const auto& entry : fs::directory_iterator(source_root / "configs/layouts")) {
    EXPECT_EQ(linked.count(entry.path().lexically_normal()), 1u) << entry.path();
  }
  for (const auto& entry : fs::directory_iterator(source_root / "tests/golden")) {
    if (!entry.is_directory()) continue;
    EXPECT_EQ(linked.count(entry.path().lexically_normal()), 1u) << entry.path();
    const fs::path own = entry.path() / "layout.yaml";
    EXPECT_TRUE(!fs::exists(own) || linked.count(own.lexically_normal()) == 1) << own;
  }
}

}  // namespace
}  // namespace assay::report
