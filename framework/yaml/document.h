#pragma once

// yaml reads YAML into nodes that know where they were written, and refuses what is ambiguous. It
// depends on base, and no other room sees yaml-cpp. Start here.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::yaml {

// A YAML value with the place it was written at. Aliases are expanded, merge keys refused.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  std::string text;     // scalar
  bool quoted = false;  // scalar: quoted, so never a number, a boolean or null
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order written, keys unique
  SourceLocation where;

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_mapping() const { return kind == Kind::mapping; }
  // The entry's value, or nullptr.
  const Node* find(std::string_view key) const;
  // The items of a sequence, else the node itself: of what is one value or a list of several.
  std::span<const Node> one_or_more() const;
};

// Of a mapping: the key, always a scalar, and its value.
struct Node::Entry {
  Node first;
  Node second;
};

// What a document may grow to before it is refused.
struct Limits {
  std::size_t bytes = 1u << 20;
  std::size_t nodes = 200'000;  // after aliases are expanded
  std::size_t depth = 64;
};

// What a text says, and what is wrong with its keys: of those given twice the first one counts,
// what is no name is left out.
struct Document {
  Node root;
  std::vector<Diagnostic> mistakes;
};

// One document. Syntax errors, several documents and anything over a limit are errors with their
// place.
Result<Document> read(std::string_view text, const std::string& file_name,
                      const Limits& limits = {});
// The same where wrong keys are errors, too, told all at once.
Result<Node> parse(std::string_view text, const std::string& file_name, const Limits& limits = {});
Result<Node> parse_file(const std::string& path, const Limits& limits = {});

// The names of a folder's documents, "small" for small.yaml, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace assay::yaml
