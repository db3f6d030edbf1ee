#include "cli/case_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "expression/expression.h"
#include "expression/unknown_names.h"

namespace assay::cli {

namespace {

using Chosen = std::vector<const store::CaseResult*>;

constexpr std::size_t shortest_prefix = 6;

template <class Predicate>
Chosen cases_where(const store::Run& run, const Predicate& holds) {
  Chosen chosen;
  for (const store::CaseResult& result : run.cases) {
    if (holds(result)) chosen.push_back(&result);
  }
  return chosen;
}

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

Value value_of(const store::CaseResult& result, const std::string& name) {
  if (name == "outcome") return std::string(to_text(result.outcome));
  return store::value_of(result.parameters, name);
}

// Refuses a name that no case has, unless it is text that a known name is compared with.
Result<void> check_names(const store::Run& run, const Expression& expression,
                         const std::string& text) {
  std::set<std::string> known = {"outcome"};
  for (const store::CaseResult& result : run.cases) {
    for (const auto& [name, value] : result.parameters) known.insert(name);
  }
  for (const Expression::Use& use : expression.uses()) {
    if (known.contains(use.name) || known.contains(use.beside)) continue;
    return fail(ExitCode::bad_input,
                fmt::format("unknown name '{}' in '{}'{}", use.name, text,
                            suggestion(use.name, {known.begin(), known.end()})));
  }
  return {};
}

Result<Chosen> cases_that_hold(const store::Run& run, const std::string& text) {
  const auto expression = Expression::compile(text);
  if (!expression) return tl::unexpected(expression.error());
  if (const auto checked = check_names(run, *expression, text); !checked) {
    return tl::unexpected(checked.error());
  }
  Chosen chosen;
  for (const store::CaseResult& result : run.cases) {
    const auto holds =
        expression->evaluate([&](const std::string& name) { return value_of(result, name); });
    if (!holds) return tl::unexpected(holds.error());
    const bool* truth = std::get_if<bool>(&*holds);
    if (truth == nullptr && holds->index() != 0) {
      return fail(ExitCode::bad_input,
                  fmt::format("'{}' gives {}, not true or false", text, to_text(*holds)));
    }
    if (truth != nullptr && *truth) chosen.push_back(&result);
  }
  return chosen;
}

bool is_number(std::string_view text) { return consists_of(text, "0123456789"); }

bool is_key(std::string_view text) {
  return text.size() >= shortest_prefix && consists_of(text, "0123456789abcdef");
}

Chosen of_number_or_key(const store::Run& run, const std::string& text) {
  Chosen chosen;
  if (is_number(text)) {
    chosen = cases_where(
        run, [&](const auto& each) { return std::to_string(each.ordinal + 1) == text; });
  }
  if (chosen.empty() && is_key(text)) {
    chosen = cases_where(run, [&](const auto& each) { return each.key.starts_with(text); });
  }
  return chosen;
}

tl::unexpected<Error> no_case(const store::Run& run, const std::string& text) {
  return fail(ExitCode::bad_input, fmt::format("{} has no case '{}'", run.info.name, text),
              fmt::format("`assay show {}` lists its cases; give a number, the beginning of a key "
                          "({} digits or more) or an expression such as 'outcome == oom'",
                          run.info.name, shortest_prefix));
}

Result<Chosen> of_list(const store::Run& run, const std::vector<std::string>& parts) {
  std::set<const store::CaseResult*> listed;
  for (const std::string& part : parts) {
    const Chosen chosen = of_number_or_key(run, part);
    if (chosen.empty()) return no_case(run, part);
    listed.insert(chosen.begin(), chosen.end());
  }
  return cases_where(run, [&](const auto& each) { return listed.contains(&each); });
}

}  // namespace

Result<std::vector<const store::CaseResult*>> choose_cases(const store::Run& run,
                                                           const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  const bool is_list = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return is_number(part) || is_key(part);
  });
  if (is_list) return of_list(run, parts);
  auto found = cases_that_hold(run, text);
  if (!found || !found->empty()) return found;
  const std::string unknown = unknown_names({text}, run);
  return unknown.empty() ? no_case(run, text)
                         : fail(ExitCode::bad_input, fmt::format("{} has no case '{}': {}",
                                                                 run.info.name, text, unknown));
}

std::string unknown_names(const std::vector<std::string>& filters, const store::Run& run) {
  const auto texts_of = [&run](const std::string& name) {
    std::set<std::string> texts;
    for (const store::CaseResult& result : run.cases) {
      const Value value = value_of(result, name);
      if (const auto* text = std::get_if<std::string>(&value)) texts.insert(*text);
    }
    return std::vector<std::string>(texts.begin(), texts.end());
  };
  std::vector<std::string> unknown;
  for (const std::string& filter : filters) {
    const auto expression = Expression::compile(filter);
    std::string names = expression ? assay::unknown_names(*expression, texts_of) : "";
    if (!names.empty()) unknown.push_back(std::move(names));
  }
  return join(unknown, "; ");
}

Result<void> keep_cases(const std::vector<std::string>& filters, store::Run& run) {
  for (const std::string& filter : filters) {
    const auto chosen = cases_that_hold(run, filter);
    if (!chosen) return tl::unexpected(chosen.error());
    std::vector<store::CaseResult> kept;
    for (const store::CaseResult* each : *chosen) kept.push_back(*each);
    run.cases = std::move(kept);
    run.info.first.overrides.push_back("--filter " + filter);
    if (run.cases.empty()) break;
  }
  return {};
}

std::string short_key(const store::Run& run, const store::CaseResult& result) {
  std::size_t length = std::min<std::size_t>(12, result.key.size());
  for (const store::CaseResult& other : run.cases) {
    if (other.key == result.key) continue;
    const auto [end, ignored] =
        std::mismatch(result.key.begin(), result.key.end(), other.key.begin(), other.key.end());
    const auto common = static_cast<std::size_t>(end - result.key.begin());
    length = std::max(length, std::min(common + 1, result.key.size()));
  }
  return result.key.substr(0, length);
}

}  // namespace assay::cli
