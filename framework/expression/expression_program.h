#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "expression/expression.h"

namespace assay::detail {

enum class Operation {
  constant,  // argument: index into constants
  name,      // argument: index into names
  add,
  subtract,
  multiply,
  divide,
  power,
  negate,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,  // argument: number of list elements above the subject
  logical_and,
  logical_or,
  logical_not,
  minimum,  // argument: number of operands
  maximum,
  ceil,
  floor,
  sqrt,
  log2,
  choose,  // if(condition, a, b)
};

struct Instruction {
  Operation operation;
  std::uint32_t argument = 0;
};

struct Constant {
  Value value;
  std::string text;  // as written: what it is when compared with text, so that `model == 10B` works
};

// An expression in postfix order. It has no nesting, so nothing about it recurses.
struct Program {
  std::vector<Instruction> instructions;
  std::vector<Constant> constants;
  std::vector<std::string> names;
  std::vector<Expression::Use> uses;
  std::size_t stack = 0;  // operands alive at once
};

// Both operands of every comparison with an operator, as programs over the same names.
std::vector<std::pair<Program, Program>> operands_of_comparisons(const Program& program);

Result<Program> compile_program(std::string_view text);

Result<Value> run_program(const Program& program, const std::vector<Value>& values);

}  // namespace assay::detail
