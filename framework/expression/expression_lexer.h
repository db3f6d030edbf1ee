#pragma once

#include <assay/value.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::detail {

struct Token {
  enum class Kind { number, text, name, symbol, end };
  Kind kind = Kind::end;
  std::string text;        // as written; without its quotes for text
  Value number = {};       // integer or real, in base units
  std::size_t column = 1;  // from 1
};

// Ends with one token of kind `end`.
Result<std::vector<Token>> tokenize(std::string_view text);

}  // namespace assay::detail
