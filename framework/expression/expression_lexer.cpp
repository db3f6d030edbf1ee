#include "expression/expression_lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace assay::detail {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

std::optional<Value> quantity(const std::string& text) {
  if (const auto bytes = parse_size(text)) return Value(*bytes);
  if (const auto seconds = parse_duration(text)) return Value(*seconds);
  return std::nullopt;
}

std::optional<Value> plain_number(std::string_view text) {
  std::int64_t whole = 0;
  const char* const last = text.data() + text.size();
  if (const auto [end, error] = std::from_chars(text.data(), last, whole);
      error == std::errc() && end == last) {
    return Value(whole);
  }
  double real = 0;
  const auto [end, error] = std::from_chars(text.data(), last, real);
  if (error != std::errc() || end != last || !std::isfinite(real)) return std::nullopt;
  return Value(real);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (true) {
      while (at_ < text_.size() &&
             std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
        ++at_;
      if (at_ == text_.size()) break;
      const char c = text_[at_];
      const bool number =
          is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]));
      if (c == '\'' || c == '"') {
        if (auto ended = quoted(c); !ended) return tl::unexpected(ended.error());
      } else if (number) {
        numeric();
      } else if (is_letter(c)) {
        add(Token::Kind::name, word_length(at_));
      } else if (auto known = symbol(); !known) {
        return tl::unexpected(known.error());
      }
    }
    tokens_.push_back({Token::Kind::end, "", {}, at_ + 1});
    return std::move(tokens_);
  }

 private:
  std::size_t word_length(std::size_t from) const {
    std::size_t end = from;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return end - from;
  }

  void add(Token::Kind kind, std::size_t length, Value number = {}) {
    tokens_.push_back({kind, std::string(text_.substr(at_, length)), std::move(number), at_ + 1});
    at_ += length;
  }

  Result<void> quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      return fail(ExitCode::bad_input,
                  fmt::format("column {} of '{}': the quoted text is not closed", at_ + 1, text_));
    }
    tokens_.push_back(
        {Token::Kind::text, std::string(text_.substr(at_ + 1, end - at_ - 1)), {}, at_ + 1});
    at_ = end + 1;
    return {};
  }

  // A number, a number with its unit (blanks between them or not), or a word that starts with a
  // digit, such as a model called 2.7B.
  void numeric() {
    std::size_t length = word_length(at_);
    const bool exponent = (text_[at_ + length - 1] == 'e' || text_[at_ + length - 1] == 'E') &&
                          at_ + length + 1 < text_.size() &&
                          (text_[at_ + length] == '-' || text_[at_ + length] == '+') &&
                          is_digit(text_[at_ + length + 1]);
    if (exponent && plain_number(text_.substr(at_, length - 1))) {
      length += 1 + word_length(at_ + length + 1);
    }
    const std::string_view word = text_.substr(at_, length);
    if (const auto number = plain_number(word)) {
      const std::size_t unit = text_.find_first_not_of(' ', at_ + length);
      if (unit != std::string_view::npos && is_letter(text_[unit])) {
        const std::size_t whole = unit + word_length(unit) - at_;
        if (const auto value = quantity(std::string(text_.substr(at_, whole)))) {
          return add(Token::Kind::number, whole, *value);
        }
      }
      return add(Token::Kind::number, length, *number);
    }
    const auto value = quantity(std::string(word));
    add(value ? Token::Kind::number : Token::Kind::name, length, value.value_or(Value()));
  }

  Result<void> symbol() {
    constexpr std::string_view two[] = {"==", "!=", "<=", ">=", "&&", "||"};
    for (const std::string_view known : two) {
      if (text_.substr(at_, 2) == known) {
        add(Token::Kind::symbol, 2);
        return {};
      }
    }
    if (std::string_view("+-*/^<>!()[],").find(text_[at_]) == std::string_view::npos) {
      const std::string_view hint = text_[at_] == '=' ? "write '==' to compare" : "";
      return fail(
          ExitCode::bad_input,
          fmt::format("column {} of '{}': '{}' means nothing here", at_ + 1, text_, text_[at_]),
          std::string(hint));
    }
    add(Token::Kind::symbol, 1);
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace assay::detail
