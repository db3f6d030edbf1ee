#include "cli/bench/bench_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace assay::cli {

namespace {

std::string with(std::string name, char from, char to) {
  std::ranges::replace(name, from, to);
  return name;
}

struct Flag {
  std::string name;
  std::optional<std::string> value;
};

Flag read_flag(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {word.substr(2), {}};
  return {word.substr(2, equals - 2), word.substr(equals + 1)};
}

bool is_flag(const std::string& word) { return word.starts_with("--") && word.size() > 2; }

}  // namespace

std::string as_yaml(const std::string& value) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = 0;
  for (const char c : value) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  if (parts.size() == 1) return value;
  for (std::string& part : parts) part = std::string(trim(part));
  return "[" + join(parts, ", ") + "]";
}

Result<BenchWords> read_bench_words(const Usage& usage, const Arguments& arguments) {
  BenchWords words;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!is_flag(word)) {
      (word == "-h" ? words.options : names).push_back(word);
      continue;
    }
    const auto [written, value] = read_flag(word);
    const std::string own = with(written, '_', '-');
    const auto* option = usage.options.find_nothrow(own, /*approx=*/false);
    if (option != nullptr || own == "help") {
      words.options.push_back("--" + own + (value ? "=" + *value : ""));
      const bool takes_value = option != nullptr && option->semantic()->max_tokens() > 0;
      if (takes_value && !value && i + 1 < arguments.size()) {
        words.options.push_back(arguments[++i]);
      }
      continue;
    }
    const std::string name = with(written, '-', '_');
    const bool known = std::ranges::any_of(
        words.parameters, [&](const auto& parameter) { return parameter.first == name; });
    if (known) {
      return fail(ExitCode::bad_input, fmt::format("--{} is given twice", written),
                  "several values are a list: --seq-len 1024,4096");
    }
    const bool has_next = i + 1 < arguments.size() && !is_flag(arguments[i + 1]);
    words.parameters.emplace_back(name, as_yaml(value      ? *value
                                                : has_next ? arguments[++i]
                                                           : std::string("true")));
  }
  if (!names.empty()) {
    words.kind = names.front();
    words.subjects.assign(names.begin() + 1, names.end());
  }
  return words;
}

}  // namespace assay::cli
