#include <fmt/format.h>

#include <algorithm>

#include "base/renamed_variants.h"
#include "base/text.h"
#include "report/read/reader.h"

namespace assay::report {
namespace {

constexpr std::size_t values_named = 20;

std::vector<std::string> texts_of(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) {
    std::string text = to_text(value);
    if (!std::count(texts.begin(), texts.end(), text)) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

void Reader::check_value(const yaml::Node& at, const std::string& axis, const std::string& text) {
  const auto known = known_.values.find(axis);
  // "" chooses the results without the axis.
  if (text.empty() || known == known_.values.end()) return;
  const auto names = [&](const Value& value) { return names_value(text, value); };
  if (std::any_of(known->second.begin(), known->second.end(), names)) return;
  std::vector<std::string> texts = texts_of(known->second);
  std::string hint = known_names(text, texts);
  if (const auto now = new_name(axis, text, texts); !now.empty()) {
    hint = fmt::format("it is now called '{}'", now);
  } else if (texts.size() > values_named) {
    const std::size_t more = texts.size() - values_named;
    texts.resize(values_named);
    hint = fmt::format("{} and {} more", known_names(text, texts), more);
  }
  complain(at, fmt::format("{} '{}' does not exist", axis, text), std::move(hint));
}

void Reader::check_counts(const SourceLocation& at, const Expression& condition) {
  for (const Expression::Use& use : condition.uses()) {
    const bool word_expected = use.beside == "part" || use.beside == "pass";
    if (!word_expected || !known_.has_axis(use.name) || !known_.metric(use.name)) continue;
    complain(at, fmt::format("{} is compared with the number of {}", use.beside, use.name),
             fmt::format("for the word, write '{}' in quotes", use.name));
  }
}

// A bare word of a condition is an axis, or a value of the axis beside it.
void Reader::check_words(const yaml::Node& at, const Expression& condition) {
  const auto& uses = condition.uses();
  const auto is_axis = [&](const Expression::Use& use) { return known_.has_axis(use.name); };
  if (std::none_of(uses.begin(), uses.end(), is_axis)) {
    complain(at, "this condition names no axis", "known: " + join(known_.axes, ", "));
    return;
  }
  check_counts(at.where, condition);
  for (const Expression::Use& use : uses) {
    if (is_axis(use)) continue;
    if (!known_.has_axis(use.beside)) {
      complain_unknown(at.where, "axis", use.name, known_.axes);
    } else if (use.beside == "pass" && !known_.open) {
      choice(at, "pass", use.name, known_.passes);
    } else {
      check_value(at, use.beside, use.name);
    }
  }
}

Filter Reader::filter(const yaml::Node& node) {
  Filter result;
  if (node.is_mapping()) {
    for (const auto& [key, chosen] : node.entries) {
      const std::string name = axis(key);
      std::vector<std::string> values = texts(chosen, "a value to choose");
      for (const yaml::Node& item : chosen.one_or_more()) {
        if (name == "pass") pass(item);
        if (name != "pass" && item.is_scalar()) check_value(item, name, item.text);
      }
      if (!name.empty()) result.conditions.push_back({name, std::move(values)});
    }
    return result;
  }
  for (const yaml::Node& item : node.one_or_more()) {
    auto condition = expression(item, "where");
    if (!condition) continue;
    check_words(item, *condition);
    result.expressions.push_back(std::move(*condition));
  }
  return result;
}

}  // namespace assay::report
