#include <fmt/format.h>

#include <algorithm>

#include "base/renamed_variants.h"
#include "store/renames/names_in_text.h"

namespace assay::store {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_word(char c) { return is_name(c) || c == '.' || c == '-'; }

// Copies a text word by word, and names anew what is compared with a kind.
class Comparisons {
 public:
  explicit Comparisons(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (is_word(text_[at_])) {
        compared();
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  char ahead(std::size_t by = 0) const { return at_ + by < text_.size() ? text_[at_ + by] : '\0'; }

  void copy(std::size_t bytes) {
    out_ += text_.substr(at_, bytes);
    at_ += bytes;
  }

  void copy_blanks() {
    while (ahead() == ' ' || ahead() == '\t' || ahead() == '\n' || ahead() == '\r') copy(1);
  }

  std::string_view word_ahead() const {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  std::string_view copy_word() {
    const std::string_view word = word_ahead();
    copy(word.size());
    return word;
  }

  bool copy_sign() {
    const bool sign = (ahead() == '=' || ahead() == '!') && ahead(1) == '=';
    if (sign) copy(2);
    return sign;
  }

  // 'flash', "flash" or flash.
  void rename_value(std::string_view kind) {
    if (ahead() == '\'' || ahead() == '"') copy(1);
    const std::string_view word = word_ahead();
    const std::string_view now = name_now(kind, word);
    if (now.empty()) {
      copy(word.size());
    } else {
      out_ += now;
      at_ += word.size();
    }
    if (ahead() == '\'' || ahead() == '"') copy(1);
  }

  void rename_list(std::string_view kind) {
    copy(1);
    while (at_ < text_.size() && ahead() != ']' && ahead() != '[') {
      if (is_word(ahead()) || ahead() == '\'' || ahead() == '"') {
        rename_value(kind);
      } else {
        copy(1);
      }
    }
  }

  // From the beginning of a word.
  void compared() {
    const std::size_t place = out_.size();
    const std::string_view left = copy_word();
    copy_blanks();
    if (copy_sign()) {
      copy_blanks();
      if (const std::string_view now = name_now(word_ahead(), left); !now.empty()) {
        out_.replace(place, left.size(), now);
      } else {
        rename_value(left);
      }
    } else if (word_ahead() == "in") {
      copy(2);
      copy_blanks();
      if (ahead() == '[') rename_list(left);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string with_new_comparisons(std::string_view text) { return Comparisons(text).run(); }

std::string with_new_words(std::string_view sentence) {
  std::string renamed, before;
  while (!sentence.empty()) {
    const std::size_t end = std::ranges::find_if_not(sentence, is_name) - sentence.begin();
    const std::string_view word = sentence.substr(0, end);
    const std::string_view now = name_now(before, word);
    renamed += now.empty() ? word : now;
    if (!word.empty()) before = word;
    sentence.remove_prefix(end);
    if (sentence.empty()) break;
    if (sentence[0] != ' ' || word.empty()) before.clear();
    renamed += sentence[0];
    sentence.remove_prefix(1);
  }
  return renamed;
}

std::string with_new_assignments(std::string_view text) {
  std::string renamed;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    const std::string_view comma = word.ends_with(',') ? "," : "";
    word.remove_suffix(comma.size());
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view kind = word.substr(0, equals);
    const std::string_view now =
        equals == word.size() ? "" : name_now(kind, word.substr(equals + 1));
    renamed += now.empty() ? std::string(word) : fmt::format("{}={}", kind, now);
    renamed += comma;
    text.remove_prefix(end);
    if (!text.empty()) {
      renamed += ' ';
      text.remove_prefix(1);
    }
  }
  return renamed;
}

}  // namespace assay::store
