#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "expression/expression_program.h"

namespace assay::detail {
namespace {

// A value on the stack. Texts are borrowed from the program or from the caller's values.
struct Operand {
  enum class Kind { none, truth, integer, real, text };
  Kind kind = Kind::none;
  bool truth = false;
  std::int64_t integer = 0;
  double real = 0;
  // What it is beside a text: the text itself, a literal as written, a name that has no value.
  const std::string* text = nullptr;

  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  double number() const { return kind == Kind::integer ? static_cast<double>(integer) : real; }
};

Operand truth(bool value) {
  Operand operand;
  operand.kind = Operand::Kind::truth;
  operand.truth = value;
  return operand;
}

Operand whole(std::int64_t value) {
  Operand operand;
  operand.kind = Operand::Kind::integer;
  operand.integer = value;
  return operand;
}

Operand real(double value) {
  Operand operand;
  if (!std::isfinite(value)) return operand;
  operand.kind = Operand::Kind::real;
  operand.real = value;
  return operand;
}

Operand rounded(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  return std::abs(value) <= exact ? whole(static_cast<std::int64_t>(value)) : real(value);
}

// A dotted name is the option of a variant; a word such as 2.7B is not.
bool may_be_text(const std::string& name) {
  return name.find('.') == std::string::npos || (name[0] >= '0' && name[0] <= '9');
}

Operand operand_of(const Value& value, const std::string* text) {
  Operand operand;
  if (const auto* flag = std::get_if<bool>(&value)) operand = truth(*flag);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) operand = whole(*integer);
  if (const auto* number = std::get_if<double>(&value)) operand = real(*number);
  operand.text = text;
  if (const auto* written = std::get_if<std::string>(&value)) {
    operand.kind = Operand::Kind::text;
    operand.text = written;
  }
  return operand;
}

Value value_of(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::truth:
      return operand.truth;
    case Operand::Kind::integer:
      return operand.integer;
    case Operand::Kind::real:
      return operand.real;
    case Operand::Kind::text:
      return *operand.text;
    case Operand::Kind::none:
      break;
  }
  return {};
}

std::string in_words(const Operand& operand) {
  if (operand.kind == Operand::Kind::text) return fmt::format("the text '{}'", *operand.text);
  return to_text(value_of(operand));
}

// Carries the first operation that made no sense out of the evaluation.
class Machine {
 public:
  Operand apply(const Instruction& instruction, const Operand* operands) {
    switch (instruction.operation) {
      case Operation::add:
      case Operation::subtract:
      case Operation::multiply:
      case Operation::divide:
      case Operation::power:
        return arithmetic(instruction.operation, operands[0], operands[1]);
      case Operation::equal:
      case Operation::not_equal:
      case Operation::less:
      case Operation::less_equal:
      case Operation::greater:
      case Operation::greater_equal:
        return truth(compare(instruction.operation, operands[0], operands[1]));
      case Operation::in:
        return member(operands, instruction.argument);
      case Operation::logical_and: {
        const bool left = holds(operands[0]);
        return truth(holds(operands[1]) && left);
      }
      case Operation::logical_or: {
        const bool left = holds(operands[0]);
        return truth(holds(operands[1]) || left);
      }
      case Operation::logical_not:
        return truth(!holds(operands[0]));
      case Operation::minimum:
      case Operation::maximum:
        return extreme(operands, instruction.argument, instruction.operation == Operation::minimum);
      case Operation::choose:
        return operands[0].kind == Operand::Kind::none ? Operand{}
               : holds(operands[0])                    ? operands[1]
                                                       : operands[2];
      default:
        return single(instruction.operation, operands[0]);
    }
  }

  const std::optional<std::string>& failure() const { return failure_; }

 private:
  void refuse(std::string message) {
    if (!failure_) failure_ = std::move(message);
  }

  // Whether both can be calculated with; refuses text and booleans.
  bool numbers(const Operand& a, const Operand& b) {
    for (const Operand* operand : {&a, &b}) {
      if (operand->kind == Operand::Kind::text || operand->kind == Operand::Kind::truth) {
        refuse(fmt::format("cannot calculate with {}", in_words(*operand)));
        return false;
      }
    }
    return a.is_number() && b.is_number();
  }

  bool holds(const Operand& operand) {
    if (operand.kind == Operand::Kind::truth) return operand.truth;
    if (operand.kind != Operand::Kind::none) {
      refuse(fmt::format("{} is neither true nor false", in_words(operand)));
    }
    return false;
  }

  static std::optional<Operand> exact(Operation operation, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    const bool overflow = operation == Operation::add        ? __builtin_add_overflow(a, b, &result)
                          : operation == Operation::subtract ? __builtin_sub_overflow(a, b, &result)
                          : operation == Operation::multiply ? __builtin_mul_overflow(a, b, &result)
                                                             : true;
    if (overflow) return std::nullopt;
    return whole(result);
  }

  Operand arithmetic(Operation operation, const Operand& a, const Operand& b) {
    if (!numbers(a, b)) return {};
    if (a.kind == Operand::Kind::integer && b.kind == Operand::Kind::integer) {
      if (const auto result = exact(operation, a.integer, b.integer)) return *result;
    }
    switch (operation) {
      case Operation::add:
        return real(a.number() + b.number());
      case Operation::subtract:
        return real(a.number() - b.number());
      case Operation::multiply:
        return real(a.number() * b.number());
      case Operation::divide:
        return b.number() == 0 ? Operand{} : real(a.number() / b.number());
      default:
        return real(std::pow(a.number(), b.number()));
    }
  }

  Operand single(Operation operation, const Operand& a) {
    if (!numbers(a, a)) return {};
    switch (operation) {
      case Operation::negate:
        return arithmetic(Operation::subtract, whole(0), a);
      case Operation::ceil:
        return a.kind == Operand::Kind::integer ? a : rounded(std::ceil(a.real));
      case Operation::floor:
        return a.kind == Operand::Kind::integer ? a : rounded(std::floor(a.real));
      case Operation::sqrt:
        return real(std::sqrt(a.number()));
      default:
        return real(std::log2(a.number()));
    }
  }

  Operand extreme(const Operand* operands, std::size_t count, bool smallest) {
    Operand best = operands[0];
    for (std::size_t i = 0; i < count; ++i) {
      if (!numbers(best, operands[i])) return {};
      const bool better =
          smallest ? operands[i].number() < best.number() : operands[i].number() > best.number();
      if (better) best = operands[i];
    }
    best.text = nullptr;
    return best;
  }

  template <class T>
  static bool ordered(Operation operation, const T& a, const T& b) {
    switch (operation) {
      case Operation::equal:
        return a == b;
      case Operation::not_equal:
        return a != b;
      case Operation::less:
        return a < b;
      case Operation::less_equal:
        return a <= b;
      case Operation::greater:
        return a > b;
      default:
        return a >= b;
    }
  }

  bool compare(Operation operation, const Operand& a, const Operand& b) {
    using Kind = Operand::Kind;
    const bool texts = (a.kind == Kind::text || b.kind == Kind::text) && a.text && b.text;
    const bool equality = operation == Operation::equal || operation == Operation::not_equal;
    if (texts && (equality || !(a.is_number() || b.is_number()))) {
      return ordered(operation, *a.text, *b.text);
    }
    if (a.kind == Kind::none || b.kind == Kind::none) return false;
    if (a.kind == Kind::integer && b.kind == Kind::integer) {
      return ordered(operation, a.integer, b.integer);
    }
    if (a.is_number() && b.is_number()) return ordered(operation, a.number(), b.number());
    if (equality) {
      const bool equal = a.kind == Kind::truth && b.kind == Kind::truth && a.truth == b.truth;
      return equal == (operation == Operation::equal);
    }
    refuse(fmt::format("cannot order {} and {}", in_words(a), in_words(b)));
    return false;
  }

  Operand member(const Operand* operands, std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      if (compare(Operation::equal, operands[0], operands[i])) return truth(true);
    }
    return truth(false);
  }

  std::optional<std::string> failure_;
};

std::size_t operands_of(const Instruction& instruction) {
  switch (instruction.operation) {
    case Operation::in:
      return instruction.argument + 1;
    case Operation::minimum:
    case Operation::maximum:
      return instruction.argument;
    case Operation::choose:
      return 3;
    case Operation::negate:
    case Operation::logical_not:
    case Operation::ceil:
    case Operation::floor:
    case Operation::sqrt:
    case Operation::log2:
      return 1;
    default:
      return 2;
  }
}

bool compares(Operation operation) {
  return operation >= Operation::equal && operation <= Operation::greater_equal;
}

Program piece_of(const Program& program, std::size_t begin, std::size_t end) {
  Program piece = program;
  const auto at = program.instructions.begin();
  piece.instructions.assign(at + static_cast<std::ptrdiff_t>(begin),
                            at + static_cast<std::ptrdiff_t>(end));
  return piece;
}

}  // namespace

std::vector<std::pair<Program, Program>> operands_of_comparisons(const Program& program) {
  std::vector<std::pair<Program, Program>> pairs;
  std::vector<std::size_t> starts;  // of the operands that are alive, the first instruction of each
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.operation == Operation::constant || instruction.operation == Operation::name) {
      starts.push_back(i);
      continue;
    }
    const std::size_t count = operands_of(instruction);
    if (compares(instruction.operation)) {
      const std::size_t left = starts[starts.size() - 2], right = starts.back();
      pairs.emplace_back(piece_of(program, left, right), piece_of(program, right, i));
    }
    starts.resize(starts.size() - count + 1);  // the result begins where its first operand does
  }
  return pairs;
}

Result<Value> run_program(const Program& program, const std::vector<Value>& values) {
  constexpr std::size_t usual = 16;
  std::array<Operand, usual> small;
  std::vector<Operand> large(program.stack > usual ? program.stack : 0);
  Operand* const stack = large.empty() ? small.data() : large.data();
  std::size_t height = 0;
  Machine machine;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.operation == Operation::constant) {
      const Constant& constant = program.constants[instruction.argument];
      stack[height++] = operand_of(constant.value, &constant.text);
    } else if (instruction.operation == Operation::name) {
      const Value& value = values[instruction.argument];
      const std::string& name = program.names[instruction.argument];
      const bool word = std::holds_alternative<std::monostate>(value) && may_be_text(name);
      stack[height++] = operand_of(value, word ? &name : nullptr);
    } else {
      height -= operands_of(instruction);
      stack[height] = machine.apply(instruction, stack + height);
      ++height;
    }
  }
  if (machine.failure()) return fail(ExitCode::bad_input, *machine.failure());
  return value_of(stack[0]);
}

}  // namespace assay::detail
