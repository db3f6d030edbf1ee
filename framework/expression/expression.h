#pragma once

// expression reads and evaluates the small language of filters, derived columns and memory
// estimates. It depends on base. Start here; the lexer, the parser and the machine lie behind it.

#include <assay/value.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay {

namespace detail {
struct ExpressionTree;
}

// A small expression over named values: numbers (also with a unit, `100 MiB`, `5 min`), 'text',
// true, false, names (dots allowed), + - * / ^, comparisons (== != < <= > >=), `in [a, b]`,
// && || !, parentheses, min, max, ceil, floor, sqrt, log2, if(condition, a, b). A bare word that
// has no value and no dot is text when it is compared with text, so `model == small` works; a
// word that holds a dash is quoted, `model == 'xl-2026'`. Used by --filter, by `expr` columns and
// by memory estimates. From loosest to tightest: || && ! comparison + - * / unary - ^ (right to
// left).
class Expression {
 public:
  // Refuses text that is too long, too deeply nested or not an expression.
  static Result<Expression> compile(std::string_view text);

  // Distinct names in the order they appear.
  const std::vector<std::string>& names() const;

  // One place where a name stands. `beside` is the name on the other side of the comparison it is
  // directly part of, otherwise "": only such a word may turn out to be text.
  struct Use {
    std::string name;
    std::string beside;
  };
  const std::vector<Use>& uses() const;

  // Both sides of every comparison with an operator, each an expression over the same names().
  struct Compared;
  std::vector<Compared> comparisons() const;

  // monostate from `lookup` means the name has no value: arithmetic on it gives monostate,
  // a comparison with it false.
  using Lookup = std::function<Value(const std::string&)>;
  // An error only for operations that make no sense, such as "a" * 2; division by zero, and
  // whatever else is not finite, gives monostate.
  Result<Value> evaluate(const Lookup& lookup) const;
  // With values[i] belonging to names()[i]; no allocation for numeric expressions.
  Result<Value> evaluate(const std::vector<Value>& values) const;

 private:
  std::shared_ptr<const detail::ExpressionTree> tree_;
  std::uint32_t root_ = 0;
};

struct Expression::Compared {
  Expression left, right;
};

}  // namespace assay
