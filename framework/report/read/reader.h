#pragma once

// report/read reads what a report shows from YAML, and writes its JSON Schema, by tables of keys.
// It depends on report/spec. Start here, then read_blocks.h.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "report/spec/spec.h"
#include "yaml/document.h"
#include "yaml/keys.h"

namespace assay::report {

// "did you mean 'b'? known: a, b, c".
std::string known_names(std::string_view word, const std::vector<std::string>& names);

// Reads nodes of a report spec and collects all complaints.
class Reader {
 public:
  Reader(const Vocabulary& known, std::vector<Diagnostic>& diagnostics)
      : known_(known), diagnostics_(diagnostics) {}

  const Vocabulary& known() const { return known_; }
  void complain(const yaml::Node& at, std::string message, std::string hint = {});
  void complain(const SourceLocation& at, std::string message, std::string hint = {});
  void complain_unknown(const SourceLocation& at, std::string_view what, std::string_view word,
                        const std::vector<std::string>& names);
  void note_ceilings() { wants_ceilings_ = true; }
  bool wants_ceilings() const { return wants_ceilings_; }

  // Fills `target` from a mapping; complains about unknown keys. False: the node is no mapping.
  template <class Target>
  bool entries(const yaml::Node& node, std::string_view what,
               const yaml::Keys<Reader, Target>& keys, Target& target);

  // Each complains about any other node and then returns an empty value.
  std::string text(const yaml::Node& node, std::string_view what);
  std::vector<std::string> texts(const yaml::Node& node, std::string_view what);
  bool boolean(const yaml::Node& node, std::string_view what);
  std::size_t count(const yaml::Node& node, std::string_view what);
  std::map<std::string, std::string> text_map(const yaml::Node& node, std::string_view what);

  std::string choice(const yaml::Node& node, std::string_view what,
                     const std::vector<std::string>& choices);
  std::string choice(const yaml::Node& at, std::string_view what, const std::string& word,
                     const std::vector<std::string>& choices);

  std::string axis(const yaml::Node& node);
  std::vector<std::string> axes(const yaml::Node& node);
  const MetricInfo* metric(const yaml::Node& node);
  std::string pass(const yaml::Node& node);
  Template text_template(const yaml::Node& node, std::string_view what);
  std::optional<Expression> expression(const yaml::Node& node, std::string_view what);
  Format format(const yaml::Node& node);
  CellTexts cells(const yaml::Node& node);
  std::vector<Outcome> outcomes(const yaml::Node& node);
  std::string unit(const yaml::Node& node);

  // Complains where the axis' values are known and none has this name.
  void check_value(const yaml::Node& at, const std::string& axis, const std::string& text);
  // Complains where a condition compares part or pass with a counted metric, which is an axis too:
  // `part == parameters` means the word.
  void check_counts(const SourceLocation& at, const Expression& condition);
  // {axis: value or list}, or an expression over axes, or a list of expressions.
  Filter filter(const yaml::Node& node);

 private:
  template <class Value>
  std::optional<Value> accepted(const yaml::Node& node, std::string_view what,
                                Result<Value> result);
  void check_words(const yaml::Node& at, const Expression& condition);

  const Vocabulary& known_;
  std::vector<Diagnostic>& diagnostics_;
  bool wants_ceilings_ = false;
};

template <class Target>
using Keys = yaml::Keys<Reader, Target>;

template <class Target>
bool Reader::entries(const yaml::Node& node, std::string_view what,
                     const yaml::Keys<Reader, Target>& keys, Target& target) {
  if (!node.is_mapping()) {
    complain(node, fmt::format("{} must be a mapping", what),
             "its keys: " + join(yaml::names_of(keys), ", "));
    return false;
  }
  yaml::read_keys(keys, node, *this, target, [&](const yaml::Node& key) {
    complain(key, fmt::format("{} has no key '{}'", what, key.text),
             known_names(key.text, yaml::names_of(keys)));
  });
  return true;
}

}  // namespace assay::report
