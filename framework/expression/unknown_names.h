#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expression/expression.h"

namespace assay {

// What a name's text is somewhere, each once; none where there is no such name or it is never text.
using TextsOf = std::function<std::vector<std::string>(const std::string& name)>;

// Words that are compared with a name that never is that text, in a sentence for who wrote them:
// "no case has model 'smal'; did you mean 'small'?". "" where there are none.
std::string unknown_names(const Expression& expression, const TextsOf& texts_of);

}  // namespace assay
