#pragma once

// yaml reads YAML into nodes with their places and refuses ambiguous documents. It depends on base
// and hides yaml-cpp. Start here.

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::yaml {

// A YAML value and its place. Aliases are expanded, merge keys refused.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  std::string text;     // scalar
  bool quoted = false;  // scalar: always text
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order written, keys unique
  SourceLocation where;

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_mapping() const { return kind == Kind::mapping; }
  const Node* find(std::string_view key) const;
  // A sequence's items, else the node itself.
  std::span<const Node> one_or_more() const;
};

struct Node::Entry {
  Node first;  // a scalar
  Node second;
};

struct Limits {
  std::size_t bytes = 1u << 20;
  std::size_t nodes = 200'000;  // after aliases are expanded
  std::size_t depth = 64;
};

struct Document {
  Node root;
  std::vector<Diagnostic> mistakes;  // of keys: repetitions and keys without a name, all left out
};

// A syntax error, a second document and an exceeded limit are errors with a place.
Result<Document> read(std::string_view text, const std::string& file_name,
                      const Limits& limits = {});
// The same, with all mistakes of keys as one error.
Result<Node> parse(std::string_view text, const std::string& file_name, const Limits& limits = {});
Result<Node> parse_file(const std::string& path, const Limits& limits = {});

// The names of a folder's documents ("small" for small.yaml), sorted; none in an unreadable folder.
std::vector<std::string> names_in(const std::filesystem::path& folder);
// The documents of a folder and its subfolders by name; of two with one name the path that sorts
// first.
std::map<std::string, std::filesystem::path> documents_below(const std::filesystem::path& folder);

}  // namespace assay::yaml
