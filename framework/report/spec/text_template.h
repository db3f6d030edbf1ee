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
    std::string literal;
    bool has_field = false;
    Field field;
  };

  static Result<Template> parse(std::string_view text);

  SourceLocation where;  // of the text in its file

  bool empty() const { return parts_.empty(); }
  void append(const Template& more);
  const std::vector<Part>& parts() const { return parts_; }

  std::vector<std::string> names() const { return names(false); }
  std::vector<std::string> function_names() const { return names(true); }  // inside functions

  // `value` returns the text of a field.
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
  std::vector<std::string> names(bool in_functions) const;

  std::vector<Part> parts_;
};

const std::vector<std::string>& aggregate_names();

}  // namespace assay::report
