#pragma once

#include <string>
#include <string_view>

namespace assay::store {

// Of a key's text, "attention=flash, seq_len=128", and of a case in words, "attention=flash
// seq_len=128".
std::string with_new_assignments(std::string_view text);

// Of a sentence: "attention cudnn runs on cuda only".
std::string with_new_words(std::string_view sentence);

// Of the comparisons in an expression, or anywhere in a text: `attention == flash`,
// `flash != attention`, `attention in ['flash', cudnn]`.
std::string with_new_comparisons(std::string_view text);

// Of an experiment, a suite or a report in YAML: the values of a kind, wherever they stand, the
// labels of its axis, and comparisons. Comments and layout stay. What is not YAML comes back as it
// is. `kind`: what the text itself is a value of, as in `--set attention=…`.
std::string with_new_variants(const std::string& yaml, std::string_view kind = {});

}  // namespace assay::store
