#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "expression/expression.h"

namespace assay::detail {

using NodeId = std::uint32_t;

struct Constant {
  Value value;
  std::string text;  // as written, for a comparison with text: `model == 10B`
};

struct Name {
  std::size_t index;               // in `names`
  std::optional<std::size_t> use;  // in `uses`; none within brackets
  bool may_be_text;
};

// Operands joined from left to right, so that a long sum stays flat.
struct Chain {
  NodeId first;
  std::vector<std::pair<std::string_view, NodeId>> rest;  // each with the sign before it
};

struct Prefix {
  char sign;
  std::size_t times;
  NodeId operand;
};

enum class Function { in, min, max, ceil, floor, sqrt, log2, choose };

struct Call {
  Function function;
  std::vector<NodeId> arguments;  // of `in`: the subject, then the list
};

// Of bounded depth: a walk may recurse.
struct ExpressionTree {
  std::vector<std::variant<Constant, Name, Chain, Prefix, Call>> nodes;  // the last is the root
  std::vector<std::string> names;
  std::vector<Expression::Use> uses;
};

inline bool is_comparison(std::string_view sign) {
  return sign[0] == '=' || sign[0] == '!' || sign[0] == '<' || sign[0] == '>';
}

Result<ExpressionTree> parse_expression(std::string_view text);

}  // namespace assay::detail
