#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expression/expression.h"

namespace assay {

// The distinct texts that cases have for a name.
using TextsOf = std::function<std::vector<std::string>(const std::string& name)>;

// "no case has model 'smal'; did you mean 'small'?" for each such word; "" without any.
std::string unknown_names(const Expression& expression, const TextsOf& texts_of);

}  // namespace assay
