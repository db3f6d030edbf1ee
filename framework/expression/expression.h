#pragma once

// expression compiles and evaluates the language of filters, derived columns and memory estimates.
// It depends on base. Start here.

#include <assay/value.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay {

namespace detail {
struct ExpressionTree;
}

// An expression over named values: numbers (also with a unit: `100 MiB`, `5 min`), 'text', true,
// false, names (dots allowed), + - * / ^, comparisons (== != < <= > >=), `in [a, b]`, && || !,
// parentheses, min, max, ceil, floor, sqrt, log2, if(condition, a, b). From loosest to tightest:
// || && ! comparison + - * / unary - ^ (right to left). A bare word without a value or a dot
// compares as text, so `model == small` works; a word with a dash needs quotes: 'xl-2026'.
class Expression {
 public:
  static Result<Expression> compile(std::string_view text);

  // Distinct, in the order they appear.
  const std::vector<std::string>& names() const;

  // One use of a name, which may be text if `beside`, the name it is compared with, is not "".
  struct Use {
    std::string name;
    std::string beside;
  };
  const std::vector<Use>& uses() const;

  // The two sides of every comparison with an operator, over the same names().
  struct Compared;
  std::vector<Compared> comparisons() const;

  // The names that are an operand of arithmetic as they stand, which text cannot be.
  std::set<std::string> calculated() const;

  // monostate: no value. Arithmetic on it gives monostate, a comparison false.
  using Lookup = std::function<Value(const std::string&)>;
  // Fails for a senseless operation, such as "a" * 2. A result that is not finite is monostate.
  Result<Value> evaluate(const Lookup& lookup) const;
  // values[i] belongs to names()[i]. Numeric expressions allocate nothing.
  Result<Value> evaluate(const std::vector<Value>& values) const;

 private:
  std::shared_ptr<const detail::ExpressionTree> tree_;
  std::uint32_t root_ = 0;
};

struct Expression::Compared {
  Expression left, right;
};

}  // namespace assay
