#include "expression/expression.h"

#include "expression/expression_program.h"

namespace assay {

struct Expression::Node {
  detail::Program program;
};

Result<Expression> Expression::compile(std::string_view text) {
  auto program = detail::compile_program(text);
  if (!program) return tl::unexpected(program.error());
  Expression expression;
  expression.names_ = program->names;
  expression.uses_ = program->uses;
  expression.root_ = std::make_shared<const Node>(Node{std::move(*program)});
  return expression;
}

const std::vector<std::string>& Expression::names() const { return names_; }

const std::vector<Expression::Use>& Expression::uses() const { return uses_; }

std::vector<Expression::Comparison> Expression::comparisons() const {
  const auto side = [&](detail::Program program) {
    Expression expression;
    expression.names_ = names_;
    expression.root_ = std::make_shared<const Node>(Node{std::move(program)});
    return expression;
  };
  std::vector<Comparison> comparisons;
  for (auto& [left, right] : detail::operands_of_comparisons(root_->program)) {
    comparisons.push_back({side(std::move(left)), side(std::move(right))});
  }
  return comparisons;
}

Result<Value> Expression::evaluate(const Lookup& lookup) const {
  std::vector<Value> values;
  values.reserve(names_.size());
  for (const std::string& name : names_) values.push_back(lookup(name));
  return evaluate(values);
}

Result<Value> Expression::evaluate(const std::vector<Value>& values) const {
  return detail::run_program(root_->program, values);
}

}  // namespace assay
