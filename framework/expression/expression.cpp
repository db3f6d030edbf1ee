#include "expression/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "expression/expression_tree.h"

namespace assay {
namespace detail {
namespace {

struct Operand {
  Value value = {};
  // How it compares with a text: a literal as written, a name without a value.
  const std::string* word = nullptr;

  template <class T>
  const T* is() const {
    return std::get_if<T>(&value);
  }
  bool is_number() const { return is<std::int64_t>() || is<double>(); }
  double number() const {
    const auto* whole = is<std::int64_t>();
    return whole ? static_cast<double>(*whole) : *is<double>();
  }
  const std::string* text() const { return is<std::string>() ? is<std::string>() : word; }
  std::string in_words() const {
    return is<std::string>() ? fmt::format("the text '{}'", *text()) : to_text(value);
  }
};

Operand real(double value) { return std::isfinite(value) ? Operand{value} : Operand{}; }

Operand rounded(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  return std::abs(value) <= exact ? Operand{static_cast<std::int64_t>(value)} : real(value);
}

std::optional<std::int64_t> exact(char sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflow = sign == '+'   ? __builtin_add_overflow(a, b, &result)
                        : sign == '-' ? __builtin_sub_overflow(a, b, &result)
                        : sign == '*' ? __builtin_mul_overflow(a, b, &result)
                                      : true;
  return overflow ? std::nullopt : std::optional(result);
}

template <class T>
bool ordered(std::string_view sign, const T& a, const T& b) {
  if (sign == "!=") return a != b;
  return (sign.size() == 2 && a == b) || (sign[0] == '<' && a < b) || (sign[0] == '>' && a > b);
}

// Evaluates every operand, so that a senseless operation always fails; keeps the first failure.
class Walk {
 public:
  Walk(const ExpressionTree& tree, const std::vector<Value>& values)
      : tree_(tree), values_(values) {}

  Result<Value> run(NodeId root) {
    Operand result = at(root);
    if (failure_) return fail(ExitCode::bad_input, *failure_);
    return std::move(result.value);
  }

  Operand operator()(const Constant& constant) { return {constant.value, &constant.text}; }

  Operand operator()(const Name& name) {
    const Value& value = values_[name.index];
    if (const auto* number = std::get_if<double>(&value)) return real(*number);
    const bool word = name.may_be_text && std::holds_alternative<std::monostate>(value);
    return {value, word ? &tree_.names[name.index] : nullptr};
  }

  Operand operator()(const Chain& chain) {
    Operand result = at(chain.first);
    for (const auto& [sign, operand] : chain.rest) result = join(sign, result, at(operand));
    return result;
  }

  Operand operator()(const Prefix& prefix) {
    Operand result = at(prefix.operand);
    for (std::size_t i = 0; i < prefix.times; ++i) {
      result =
          prefix.sign == '!' ? Operand{!holds(result)} : arithmetic('-', {std::int64_t{0}}, result);
    }
    return result;
  }

  Operand operator()(const Call& call) {
    const Operand first = at(call.arguments[0]);
    switch (call.function) {
      case Function::in:
        return member(first, call);
      case Function::min:
      case Function::max:
        return extreme(first, call);
      case Function::choose:
        return choose(first, call);
      default:
        return calculable(first) ? single(call.function, first) : Operand{};
    }
  }

 private:
  Operand at(NodeId id) { return std::visit(*this, tree_.nodes[id]); }

  void refuse(std::string message) {
    if (!failure_) failure_ = std::move(message);
  }

  bool calculable(const Operand& operand) {
    if (operand.is<std::string>() || operand.is<bool>()) {
      refuse(fmt::format("cannot calculate with {}", operand.in_words()));
    }
    return operand.is_number();
  }

  bool holds(const Operand& operand) {
    if (const auto* flag = operand.is<bool>()) return *flag;
    if (!operand.is<std::monostate>()) {
      refuse(fmt::format("{} is neither true nor false", operand.in_words()));
    }
    return false;
  }

  Operand join(std::string_view sign, const Operand& a, const Operand& b) {
    if (is_comparison(sign)) return {compare(sign, a, b)};
    if (sign.size() == 1) return arithmetic(sign[0], a, b);
    const bool left = holds(a), right = holds(b);
    return {sign == "&&" ? left && right : left || right};
  }

  Operand arithmetic(char sign, const Operand& a, const Operand& b) {
    const bool left = calculable(a), right = calculable(b);
    if (!left || !right) return {};
    if (const auto* i = a.is<std::int64_t>(), *j = b.is<std::int64_t>(); i && j) {
      if (const auto result = exact(sign, *i, *j)) return {*result};
    }
    const double x = a.number(), y = b.number();
    return real(sign == '+'   ? x + y
                : sign == '-' ? x - y
                : sign == '*' ? x * y
                : sign == '/' ? x / y
                              : std::pow(x, y));
  }

  static Operand single(Function function, const Operand& a) {
    if (function == Function::sqrt) return real(std::sqrt(a.number()));
    if (function == Function::log2) return real(std::log2(a.number()));
    if (a.is<std::int64_t>()) return a;
    return rounded(function == Function::ceil ? std::ceil(a.number()) : std::floor(a.number()));
  }

  Operand extreme(const Operand& first, const Call& call) {
    Operand best = first;
    for (std::size_t i = 1; i < call.arguments.size(); ++i) {
      const Operand other = at(call.arguments[i]);
      if (!best.is_number()) continue;
      const bool better = !other.is_number() || ordered(call.function == Function::min ? "<" : ">",
                                                        other.number(), best.number());
      if (better) best = other;
    }
    return calculable(best) ? Operand{best.value} : Operand{};
  }

  Operand choose(const Operand& condition, const Call& call) {
    const Operand yes = at(call.arguments[1]), no = at(call.arguments[2]);
    if (condition.is<std::monostate>()) return {};
    return holds(condition) ? yes : no;
  }

  Operand member(const Operand& subject, const Call& call) {
    bool found = false;
    for (std::size_t i = 1; i < call.arguments.size(); ++i) {
      found |= compare("==", subject, at(call.arguments[i]));
    }
    return {found};
  }

  bool compare(std::string_view sign, const Operand& a, const Operand& b) {
    const bool equality = sign == "==" || sign == "!=";
    const bool texts = (a.is<std::string>() || b.is<std::string>()) && a.text() && b.text();
    if (texts && (equality || !(a.is_number() || b.is_number()))) {
      return ordered(sign, *a.text(), *b.text());
    }
    if (a.is<std::monostate>() || b.is<std::monostate>()) return false;
    if (const auto* i = a.is<std::int64_t>(), *j = b.is<std::int64_t>(); i && j) {
      return ordered(sign, *i, *j);
    }
    if (a.is_number() && b.is_number()) return ordered(sign, a.number(), b.number());
    if (equality) return (a.is<bool>() && a.value == b.value) == (sign == "==");
    refuse(fmt::format("cannot order {} and {}", a.in_words(), b.in_words()));
    return false;
  }

  const ExpressionTree& tree_;
  const std::vector<Value>& values_;
  std::optional<std::string> failure_;
};

}  // namespace
}  // namespace detail

Result<Expression> Expression::compile(std::string_view text) {
  auto tree = detail::parse_expression(text);
  if (!tree) return tl::unexpected(tree.error());
  Expression expression;
  expression.root_ = static_cast<detail::NodeId>(tree->nodes.size() - 1);
  expression.tree_ = std::make_shared<const detail::ExpressionTree>(std::move(*tree));
  return expression;
}

const std::vector<std::string>& Expression::names() const { return tree_->names; }

const std::vector<Expression::Use>& Expression::uses() const { return tree_->uses; }

std::vector<Expression::Compared> Expression::comparisons() const {
  std::vector<Compared> comparisons;
  for (const auto& node : tree_->nodes) {
    const auto* chain = std::get_if<detail::Chain>(&node);
    if (chain == nullptr || !detail::is_comparison(chain->rest[0].first)) continue;
    Compared& sides = comparisons.emplace_back(Compared{*this, *this});
    sides.left.root_ = chain->first;
    sides.right.root_ = chain->rest[0].second;
  }
  return comparisons;
}

std::set<std::string> Expression::calculated() const {
  std::set<std::string> names;
  const auto note = [&](detail::NodeId operand) {
    const auto* name = std::get_if<detail::Name>(&tree_->nodes[operand]);
    if (name != nullptr) names.insert(tree_->names[name->index]);
  };
  for (const auto& node : tree_->nodes) {
    if (const auto* chain = std::get_if<detail::Chain>(&node)) {
      for (const auto& [sign, operand] : chain->rest) {
        if (detail::is_comparison(sign) || sign.size() > 1) continue;
        note(chain->first);
        note(operand);
      }
    } else if (const auto* prefix = std::get_if<detail::Prefix>(&node)) {
      note(prefix->operand);
    } else if (const auto* call = std::get_if<detail::Call>(&node)) {
      const bool compares = call->function == detail::Function::in;
      const bool chooses = call->function == detail::Function::choose;
      if (!compares && !chooses) std::ranges::for_each(call->arguments, note);
    }
  }
  return names;
}

Result<Value> Expression::evaluate(const Lookup& lookup) const {
  std::vector<Value> values;
  values.reserve(names().size());
  for (const std::string& name : names()) values.push_back(lookup(name));
  return evaluate(values);
}

Result<Value> Expression::evaluate(const std::vector<Value>& values) const {
  return detail::Walk(*tree_, values).run(root_);
}

}  // namespace assay
