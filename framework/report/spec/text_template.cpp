#include "report/spec/text_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::report {
namespace {

Result<Template::Field> parse_field(std::string_view text) {
  Template::Field field;
  const std::size_t colon = text.find(':');
  std::string_view name = trim(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    auto spec = parse_field_spec(text.substr(colon + 1));
    if (!spec) return tl::unexpected(spec.error());
    field.spec = *spec;
  }
  const std::size_t open = name.find('(');
  if (open != std::string_view::npos && !name.empty() && name.back() == ')') {
    field.function = std::string(trim(name.substr(0, open)));
    name = trim(name.substr(open + 1, name.size() - open - 2));
    const auto& known = aggregate_names();
    if (std::find(known.begin(), known.end(), field.function) == known.end()) {
      return fail(ExitCode::bad_input,
                  fmt::format("'{}' is not a function over rows", field.function),
                  "known: " + join(known, ", "));
    }
  }
  if (name.empty()) return fail(ExitCode::bad_input, "a field without a name: {}");
  field.name = std::string(name);
  return field;
}

}  // namespace

const std::vector<std::string>& aggregate_names() {
  static const std::vector<std::string> names{"mean", "geomean", "std", "std_population", "median",
                                              "min",  "max",     "sum", "count"};
  return names;
}

Result<Template> Template::parse(std::string_view text) {
  Template result;
  Part part;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      part.literal += c;
      ++i;
    } else if (c == '{') {
      const std::size_t close = text.find('}', i);
      if (close == std::string_view::npos) {
        return fail(ExitCode::bad_input, fmt::format("'{{' without '}}' in \"{}\"", text),
                    "write {{ for a brace");
      }
      auto field = parse_field(text.substr(i + 1, close - i - 1));
      if (!field) return tl::unexpected(field.error());
      part.field = std::move(*field);
      part.has_field = true;
      result.parts_.push_back(std::move(part));
      part = Part();
      i = close;
    } else if (c == '}') {
      return fail(ExitCode::bad_input, fmt::format("'}}' without '{{' in \"{}\"", text),
                  "write }} for a brace");
    } else {
      part.literal += c;
    }
  }
  if (!part.literal.empty()) result.parts_.push_back(std::move(part));
  return result;
}

void Template::append(const Template& more) {
  parts_.insert(parts_.end(), more.parts_.begin(), more.parts_.end());
}

std::vector<std::string> Template::names(bool in_functions) const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    if (part.has_field && part.field.function.empty() != in_functions) {
      names.push_back(part.field.name);
    }
  }
  return names;
}

}  // namespace assay::report
