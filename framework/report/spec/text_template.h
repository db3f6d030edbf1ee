#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "report/spec/format.h"

namespace assay::report {

// Text with fields: "{model:<10} {mean(gain):.2f}x", "{{" for a brace.
class Template {
 public:
  struct Field {
    std::string function;  // "mean" in {mean(gain)}; "" for a plain name
    std::string name;
    FieldSpec spec;
  };
  struct Part {
    std::string literal;  // stands before the field
    bool has_field = false;
    Field field;
  };

  // Errors name the field that cannot be read.
  static Result<Template> parse(std::string_view text);

  SourceLocation where;  // of the text in its file

  bool empty() const { return parts_.empty(); }
  void append(const Template& more);
  const std::vector<Part>& parts() const { return parts_; }

  // Names that are not inside a function, and those that are.
  std::vector<std::string> names() const;
  std::vector<std::string> function_names() const;

  // Writes the text; `value` gives what a field shows, before padding is applied to it.
  template <class Lookup>
  std::string render(const Lookup& value) const {
    std::string text;
    for (const Part& part : parts_) {
      text += part.literal;
      if (part.has_field) text += value(part.field);
    }
    return text;
  }

 private:
  std::vector<Part> parts_;
};

// What may stand before the parenthesis, in order.
const std::vector<std::string>& aggregate_names();

}  // namespace assay::report
