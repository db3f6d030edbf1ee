#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <unordered_map>

#include "base/text.h"
#include "expression/expression_tree.h"

namespace assay::detail {
namespace {

constexpr std::size_t longest_text = 1 << 16;
constexpr std::size_t deepest_nesting = 100;

struct ParseFailure {
  std::string message;
  std::string hint;
};

struct Token {
  enum class Kind { constant, name, symbol, end };
  Kind kind;
  std::string_view text;  // as written, without quotes
  std::size_t column;     // from 1
  Value value = {};       // of a constant; numbers in base units
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

Value quantity(std::string_view text) {
  if (const auto bytes = parse_size(text)) return *bytes;
  if (const auto seconds = parse_duration(text)) return *seconds;
  return {};
}

template <class Number>
Value number(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last && std::isfinite(static_cast<double>(value)))
    return value;
  if constexpr (std::is_integral_v<Number>) return number<double>(text);
  return {};
}

bool is_none(const Value& value) { return std::holds_alternative<std::monostate>(value); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (true) {
      at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size());
      const char c = ahead(0);
      if (at_ == text_.size()) break;
      if (c == '\'' || c == '"') {
        quoted(c);
      } else if (is_digit(c) || (c == '.' && is_digit(ahead(1)))) {
        numeric();
      } else if (is_letter(c)) {
        add(Token::Kind::name, word_length(at_));
      } else {
        symbol(c);
      }
    }
    add(Token::Kind::end, 0);
    return std::move(tokens_);
  }

 private:
  char ahead(std::size_t by) const { return at_ + by < text_.size() ? text_[at_ + by] : '\0'; }

  std::size_t word_length(std::size_t from) const {
    const auto rest = text_.substr(from);
    return static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_word) -
                                    rest.begin());
  }

  void add(Token::Kind kind, std::size_t length, Value value = {}) {
    tokens_.push_back({kind, text_.substr(at_, length), at_ + 1, std::move(value)});
    at_ += length;
  }

  [[noreturn]] void refuse(std::string_view what, std::string hint = {}) const {
    throw ParseFailure{fmt::format("column {} of '{}': {}", at_ + 1, text_, what), hint};
  }

  void quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("the quoted text is not closed");
    const auto text = text_.substr(at_ + 1, end - at_ - 1);
    tokens_.push_back({Token::Kind::constant, text, at_ + 1, std::string(text)});
    at_ = end + 1;
  }

  // "5", "5 min", or a word that starts with a digit, such as 2.7B.
  void numeric() {
    std::size_t length = word_length(at_);
    const char mark = ahead(length - 1), sign = ahead(length);
    if ((mark == 'e' || mark == 'E') && (sign == '-' || sign == '+') &&
        is_digit(ahead(length + 1)) && !is_none(number<double>(text_.substr(at_, length - 1)))) {
      length += 1 + word_length(at_ + length + 1);
    }
    const std::string_view word = text_.substr(at_, length);
    Value value = number<std::int64_t>(word);
    if (is_none(value)) {
      value = quantity(word);
      return add(is_none(value) ? Token::Kind::name : Token::Kind::constant, length, value);
    }
    const std::size_t unit = std::min(text_.find_first_not_of(' ', at_ + length), text_.size());
    const std::size_t whole = unit + word_length(unit) - at_;
    if (unit < text_.size() && is_letter(text_[unit])) {
      if (Value with_unit = quantity(text_.substr(at_, whole)); !is_none(with_unit)) {
        return add(Token::Kind::constant, whole, with_unit);
      }
    }
    add(Token::Kind::constant, length, value);
  }

  void symbol(char c) {
    for (const std::string_view two : {"==", "!=", "<=", ">=", "&&", "||"}) {
      if (text_.substr(at_, 2) == two) return add(Token::Kind::symbol, 2);
    }
    if (std::string_view("+-*/^<>!()[],").find(c) == std::string_view::npos) {
      refuse(fmt::format("'{}' means nothing here", c), c == '=' ? "write '==' to compare" : "");
    }
    add(Token::Kind::symbol, 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

struct KnownFunction {
  std::string_view name;
  Function function;
  std::size_t least, most;  // arguments
};

constexpr KnownFunction functions[] = {
    {"min", Function::min, 1, 1000}, {"max", Function::max, 1, 1000},
    {"ceil", Function::ceil, 1, 1},  {"floor", Function::floor, 1, 1},
    {"sqrt", Function::sqrt, 1, 1},  {"log2", Function::log2, 1, 1},
    {"if", Function::choose, 3, 3}};

// Recursive descent.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(Lexer(text).run()) {}

  ExpressionTree parse() {
    disjunction();
    if (peek().kind != Token::Kind::end) refuse(fmt::format("'{}' is not expected", peek().text));
    return std::move(tree_);
  }

 private:
  using Rule = NodeId (Parser::*)();
  using Signs = std::initializer_list<std::string_view>;

  [[noreturn]] void refuse(const std::string& what, std::string hint = {}) const {
    throw ParseFailure{fmt::format("column {} of '{}': {}", peek().column, text_, what), hint};
  }

  const Token& peek() const { return tokens_[at_]; }
  // Consumes the next token if it is one of `signs`; else "".
  std::string_view take(Signs signs) {
    if (peek().kind != Token::Kind::symbol) return {};
    const auto* const found = std::find(signs.begin(), signs.end(), peek().text);
    if (found == signs.end()) return {};
    ++at_;
    return *found;
  }
  std::string_view take_comparison() { return take({"==", "!=", "<=", ">=", "<", ">"}); }
  void expect(std::string_view sign) {
    if (take({sign}).empty()) refuse(fmt::format("'{}' is missing", sign));
  }

  template <class Node>
  NodeId add(Node node) {
    tree_.nodes.emplace_back(std::move(node));
    return static_cast<NodeId>(tree_.nodes.size() - 1);
  }

  NodeId chain(Signs signs, Rule operand) {
    Chain chain{(this->*operand)(), {}};
    while (true) {
      const std::string_view sign = take(signs);
      if (sign.empty()) return chain.rest.empty() ? chain.first : add(std::move(chain));
      chain.rest.emplace_back(sign, (this->*operand)());
    }
  }
  NodeId prefixed(std::string_view sign, Rule rule) {
    std::size_t times = 0;
    while (!take({sign}).empty()) ++times;
    const NodeId operand = (this->*rule)();
    return times == 0 ? operand : add(Prefix{sign[0], times, operand});
  }
  std::vector<NodeId> list(std::vector<NodeId> items, Rule item) {
    do {
      items.push_back((this->*item)());
    } while (!take({","}).empty());
    return items;
  }

  NodeId disjunction() { return chain({"||"}, &Parser::conjunction); }
  NodeId conjunction() { return chain({"&&"}, &Parser::negation); }
  NodeId negation() { return prefixed("!", &Parser::comparison); }
  NodeId sum() { return chain({"+", "-"}, &Parser::product); }
  NodeId product() { return chain({"*", "/"}, &Parser::unary); }
  NodeId unary() { return prefixed("-", &Parser::power); }

  // The use of a name that is a whole operand, or null.
  Expression::Use* use(NodeId operand) {
    const auto* name = std::get_if<Name>(&tree_.nodes[operand]);
    return name != nullptr && name->use ? &tree_.uses[*name->use] : nullptr;
  }
  void note_beside(NodeId operand, NodeId other) {
    if (use(operand) != nullptr && use(other) != nullptr) use(operand)->beside = use(other)->name;
  }

  NodeId comparison() {
    const NodeId left = sum();
    NodeId compared = left;
    if (const auto sign = take_comparison(); !sign.empty()) {
      const NodeId right = sum();
      note_beside(left, right);
      note_beside(right, left);
      compared = add(Chain{left, {{sign, right}}});
    } else if (peek().kind == Token::Kind::name && peek().text == "in") {
      ++at_;
      expect("[");
      const auto operands = list({left}, &Parser::sum);
      expect("]");
      for (const NodeId element : operands) {
        if (element != left) note_beside(element, left);
      }
      compared = add(Call{Function::in, operands});
    } else {
      return left;
    }
    if (const auto next = take_comparison(); !next.empty()) {
      --at_;
      refuse(fmt::format("'{}' cannot follow a comparison", next), "join them with &&");
    }
    return compared;
  }

  NodeId power() {
    if (++depth_ > deepest_nesting) refuse("nested too deeply");
    NodeId base = primary();
    if (!take({"^"}).empty()) base = add(Chain{base, {{"^", unary()}}});
    --depth_;
    return base;
  }

  NodeId primary() {
    if (!take({"("}).empty()) {
      const NodeId inside = disjunction();
      expect(")");
      if (auto* name = std::get_if<Name>(&tree_.nodes[inside])) name->use.reset();
      return inside;
    }
    const auto& [kind, text, column, value] = peek();
    if (kind == Token::Kind::symbol) {
      refuse(fmt::format("'{}' stands where a value is expected", text));
    }
    if (kind == Token::Kind::end) refuse("a value is missing");
    ++at_;
    if (kind == Token::Kind::constant) return add(Constant{value, std::string(text)});
    if (text == "true" || text == "false") return add(Constant{text == "true", std::string(text)});
    return take({"("}).empty() ? name(std::string(text)) : call(text);
  }

  NodeId name(const std::string& word) {
    const auto [known, added] = indices_.try_emplace(word, tree_.names.size());
    if (added) tree_.names.push_back(word);
    tree_.uses.push_back({word, ""});
    // A dotted name is a variant's option; 2.7B is a word.
    const bool may_be_text = word.find('.') == std::string::npos || is_digit(word[0]);
    return add(Name{known->second, tree_.uses.size() - 1, may_be_text});
  }

  NodeId call(std::string_view word) {
    const auto* known = std::find_if(std::begin(functions), std::end(functions),
                                     [&](const KnownFunction& f) { return f.name == word; });
    if (known == std::end(functions)) {
      std::vector<std::string> names;
      for (const KnownFunction& function : functions) names.emplace_back(function.name);
      at_ -= 2;
      refuse(fmt::format("unknown function '{}'", word) + suggestion(word, names));
    }
    Call call{known->function, list({}, &Parser::disjunction)};
    expect(")");
    const std::size_t count = call.arguments.size();
    if (count < known->least || count > known->most) {
      refuse(fmt::format("{}() takes {} values, not {}", word, known->least, count));
    }
    return add(std::move(call));
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::unordered_map<std::string, std::size_t> indices_;  // of the names
  ExpressionTree tree_;
};

}  // namespace

Result<ExpressionTree> parse_expression(std::string_view text) {
  if (text.size() > longest_text) return fail(ExitCode::bad_input, "the expression is too long");
  try {
    return Parser(text).parse();
  } catch (ParseFailure& failure) {
    return fail(ExitCode::bad_input, std::move(failure.message), std::move(failure.hint));
  }
}

}  // namespace assay::detail
