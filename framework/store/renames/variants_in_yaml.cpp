#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/renamed_variants.h"
#include "store/renames/names_in_text.h"
#include "yaml/document.h"
#include "yaml/writer.h"

namespace assay::store {
namespace {

using yaml::Node;

struct Edit {
  std::pair<int, int> place;  // line and column
  std::string before, now;

  bool operator<(const Edit& other) const { return place < other.place; }
};

// Names the nodes anew and notes where they stand in the text.
class NodeRenamer {
 public:
  void values(Node& node, std::string_view kind) {
    if (node.is_scalar()) name(node, kind);
    for (Node& item : node.items) values(item, kind);
    for (Node::Entry& entry : node.entries) name(entry.first, kind);
    if (node.is_mapping()) mapping(node);  // options, or a report's column of this name
  }

  const std::set<Edit>& edits() const { return edits_; }

 private:
  void name(Node& node, std::string_view kind) {
    const std::string_view now = name_now(kind, node.text);
    if (now.empty()) return;
    edits_.insert({{node.where.line, node.where.column}, node.text, std::string(now)});
    node.text = now;
  }

  void mapping(Node& node) {
    for (Node::Entry& entry : node.entries) values(entry.second, entry.first.text);
    labels(node);
  }

  // {axis: attention, labels: {flash: Flash}} and {speedup: {axis: attention, baseline: flash}}. A
  // baseline stands without its axis too, and only attention has renamed variants.
  void labels(Node& node) {
    const Node* axis = node.find("axis");
    const std::string kind = axis == nullptr ? "attention" : axis->text;
    for (auto& [key, value] : node.entries) {
      if (key.text == "baseline") name(value, kind);
      if (key.text != "labels" || axis == nullptr) continue;
      for (Node::Entry& label : value.entries) name(label.first, kind);
    }
  }

  std::set<Edit> edits_;
};

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text && std::ranges::equal(a.items, b.items, same) &&
         std::ranges::equal(a.entries, b.entries, [](const auto& one, const auto& other) {
           return same(one.first, other.first) && same(one.second, other.second);
         });
}

// Where a column, counted from 1 in code points, begins in its line.
std::size_t byte_of(std::string_view line, int column) {
  std::size_t byte = 0;
  const auto continues = [&] {
    return byte < line.size() && (static_cast<unsigned char>(line[byte]) & 0xC0) == 0x80;
  };
  for (int i = 1; i < column && byte < line.size(); ++i) {
    ++byte;
    while (continues()) ++byte;
  }
  return byte;
}

std::string edited(const std::string& text, const std::set<Edit>& edits) {
  std::string out;
  std::size_t begin = 0;
  auto edit = edits.begin();
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    std::size_t done = 0;
    for (; edit != edits.end() && edit->place.first == number; ++edit) {
      const std::size_t at = line.find(edit->before, byte_of(line, edit->place.second));
      if (at == std::string_view::npos || at < done) continue;
      out += line.substr(done, at - done);
      out += edit->now;
      done = at + edit->before.size();
    }
    out += line.substr(done);
    begin = end;
  }
  return out;
}

}  // namespace

std::string with_new_variants(const std::string& text, std::string_view kind) {
  auto document = yaml::read(text, "");
  if (!document) return text;
  NodeRenamer renamer;
  renamer.values(document->root, kind);
  std::string renamed = edited(text, renamer.edits());
  // Escapes and tags can hide where a name stands.
  const auto now = yaml::read(renamed, "");
  if (!now || !same(now->root, document->root)) renamed = yaml::to_yaml(document->root);
  return with_new_comparisons(renamed);
}

}  // namespace assay::store
