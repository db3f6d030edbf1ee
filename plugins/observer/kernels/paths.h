#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay::kernels {

// Paths of ranges, such as backward;block 3;attention, each once.
class Paths {
 public:
  static constexpr int none = 0;

  Paths() : nodes_{{none, ""}} {}
  int child(int parent, const std::string& name);
  // `path` below `base`, without its first range, the phase in which it lay.
  int below(int base, int path);
  std::vector<std::string> names(int path) const;
  std::string text(int path) const;  // joined with ';'
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    int parent;
    std::string name;
  };
  std::vector<Node> nodes_;
  std::map<std::pair<int, std::string>, int> children_;
};

// "block" of "block 3".
std::string without_number(const std::string& range);

// The text as the part of a series: one line, cut between characters. Different ones may become
// one.
std::string part_of(std::string text);

}  // namespace assay::kernels
