#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "expression/expression_lexer.h"
#include "expression/expression_program.h"

namespace assay::detail {
namespace {

constexpr std::size_t longest_text = 1 << 16;
constexpr std::size_t deepest_nesting = 100;

struct Function {
  std::string_view name;
  Operation operation;
  std::size_t minimum_arguments;
  std::size_t maximum_arguments;
};

constexpr Function functions[] = {
    {"min", Operation::minimum, 1, 1000}, {"max", Operation::maximum, 1, 1000},
    {"ceil", Operation::ceil, 1, 1},      {"floor", Operation::floor, 1, 1},
    {"sqrt", Operation::sqrt, 1, 1},      {"log2", Operation::log2, 1, 1},
    {"if", Operation::choose, 3, 3}};

// Thrown inside the parser only; compile_program turns it into an error.
struct ParseFailure {
  std::string message;
  std::string hint;
};

// Recursive descent that emits postfix instructions as it goes.
class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Program parse() {
    disjunction();
    if (peek().kind != Token::Kind::end) refuse(fmt::format("'{}' is not expected", peek().text));
    return std::move(program_);
  }

 private:
  // The index into uses of the name an operand consists of, if that is all it is.
  using Bare = std::optional<std::size_t>;

  [[noreturn]] void refuse(const std::string& what, std::string hint = {}) const {
    throw ParseFailure{fmt::format("column {} of '{}': {}", peek().column, text_, what),
                       std::move(hint)};
  }

  const Token& peek() const { return tokens_[at_]; }
  bool is_symbol(std::string_view symbol) const {
    return peek().kind == Token::Kind::symbol && peek().text == symbol;
  }
  bool take(std::string_view symbol) {
    if (!is_symbol(symbol)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) refuse(fmt::format("'{}' is missing", symbol));
  }

  void push(Instruction instruction) {
    program_.instructions.push_back(instruction);
    program_.stack = std::max(program_.stack, ++height_);
  }
  // An operation that replaces `operands` by one result.
  void reduce(Operation operation, std::size_t operands, std::size_t argument = 0) {
    program_.instructions.push_back({operation, static_cast<std::uint32_t>(argument)});
    height_ -= operands - 1;
  }

  void disjunction() {
    conjunction();
    while (take("||")) {
      conjunction();
      reduce(Operation::logical_or, 2);
    }
  }

  void conjunction() {
    negation();
    while (take("&&")) {
      negation();
      reduce(Operation::logical_and, 2);
    }
  }

  void negation() {
    std::size_t count = 0;
    while (take("!")) ++count;
    comparison();
    for (; count > 0; --count) reduce(Operation::logical_not, 1);
  }

  std::optional<Operation> comparison_operator() {
    constexpr std::pair<std::string_view, Operation> operators[] = {
        {"==", Operation::equal},      {"!=", Operation::not_equal},
        {"<=", Operation::less_equal}, {">=", Operation::greater_equal},
        {"<", Operation::less},        {">", Operation::greater}};
    for (const auto& [symbol, operation] : operators) {
      if (take(symbol)) return operation;
    }
    return std::nullopt;
  }

  void beside(Bare left, Bare right) {
    if (!left || !right) return;
    program_.uses[*left].beside = program_.uses[*right].name;
    program_.uses[*right].beside = program_.uses[*left].name;
  }

  void comparison() {
    const Bare left = sum();
    if (const auto operation = comparison_operator()) {
      beside(left, sum());
      reduce(*operation, 2);
    } else if (peek().kind == Token::Kind::name && peek().text == "in") {
      ++at_;
      membership(left);
    } else {
      return;
    }
    const Token next = peek();
    if (comparison_operator()) {
      --at_;
      refuse(fmt::format("'{}' cannot follow a comparison", next.text), "join them with &&");
    }
  }

  void membership(Bare subject) {
    expect("[");
    std::size_t count = 0;
    do {
      const Bare element = sum();
      if (subject && element) program_.uses[*element].beside = program_.uses[*subject].name;
      ++count;
    } while (take(","));
    expect("]");
    reduce(Operation::in, count + 1, count);
  }

  Bare sum() {
    Bare bare = product();
    while (true) {
      const bool plus = take("+");
      if (!plus && !take("-")) return bare;
      product();
      reduce(plus ? Operation::add : Operation::subtract, 2);
      bare.reset();
    }
  }

  Bare product() {
    Bare bare = unary();
    while (true) {
      const bool times = take("*");
      if (!times && !take("/")) return bare;
      unary();
      reduce(times ? Operation::multiply : Operation::divide, 2);
      bare.reset();
    }
  }

  Bare unary() {
    std::size_t count = 0;
    while (take("-")) ++count;
    const Bare bare = power();
    if (count == 0) return bare;
    for (; count > 0; --count) reduce(Operation::negate, 1);
    return std::nullopt;
  }

  Bare power() {
    if (++depth_ > deepest_nesting) refuse("nested too deeply");
    Bare bare = primary();
    if (take("^")) {
      unary();
      reduce(Operation::power, 2);
      bare.reset();
    }
    --depth_;
    return bare;
  }

  Bare primary() {
    const Token token = peek();
    if (take("(")) {
      disjunction();
      expect(")");
      return std::nullopt;
    }
    switch (token.kind) {
      case Token::Kind::number:
        return constant(token.number, token.text);
      case Token::Kind::text:
        return constant(token.text, token.text);
      case Token::Kind::name:
        if (token.text == "true") return constant(true, token.text);
        if (token.text == "false") return constant(false, token.text);
        return name(token.text);
      case Token::Kind::symbol:
        refuse(fmt::format("'{}' stands where a value is expected", token.text));
      case Token::Kind::end:
        break;
    }
    refuse("a value is missing");
  }

  Bare constant(Value value, const std::string& text) {
    ++at_;
    push({Operation::constant, static_cast<std::uint32_t>(program_.constants.size())});
    program_.constants.push_back({std::move(value), text});
    return std::nullopt;
  }

  Bare name(const std::string& word) {
    ++at_;
    if (is_symbol("(")) {
      --at_;
      call(word);
      return std::nullopt;
    }
    const auto [known, added] = name_index_.try_emplace(word, program_.names.size());
    if (added) program_.names.push_back(word);
    push({Operation::name, static_cast<std::uint32_t>(known->second)});
    program_.uses.push_back({word, ""});
    return program_.uses.size() - 1;
  }

  void call(const std::string& word) {
    const auto* function = std::find_if(std::begin(functions), std::end(functions),
                                        [&](const Function& known) { return known.name == word; });
    if (function == std::end(functions)) {
      std::vector<std::string> names;
      for (const Function& known : functions) names.emplace_back(known.name);
      refuse(fmt::format("unknown function '{}'", word) + suggestion(word, names));
    }
    at_ += 2;
    std::size_t count = 0;
    do {
      disjunction();
      ++count;
    } while (take(","));
    expect(")");
    if (count < function->minimum_arguments || count > function->maximum_arguments) {
      refuse(fmt::format("{}() takes {} values, not {}", word, function->minimum_arguments, count));
    }
    reduce(function->operation, count, count);
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t height_ = 0;
  std::size_t depth_ = 0;
  std::unordered_map<std::string, std::size_t> name_index_;
  Program program_;
};

}  // namespace

Result<Program> compile_program(std::string_view text) {
  if (text.size() > longest_text) return fail(ExitCode::bad_input, "the expression is too long");
  auto tokens = tokenize(text);
  if (!tokens) return tl::unexpected(tokens.error());
  try {
    return Parser(text, std::move(*tokens)).parse();
  } catch (ParseFailure& failure) {
    return fail(ExitCode::bad_input, std::move(failure.message), std::move(failure.hint));
  }
}

}  // namespace assay::detail
