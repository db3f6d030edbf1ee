#include "run/schedule/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace assay::run {

namespace {

const Value automatic = std::string("auto");

bool covers(const store::RecordedCase& result, const CaseIdentity& asked) {
  if (result.build != asked.build) return false;
  if (!result.passes) return true;
  return std::all_of(asked.passes.begin(), asked.passes.end(), [&](const std::string& pass) {
    return std::find(result.passes->begin(), result.passes->end(), pass) != result.passes->end();
  });
}

bool is_redone(const store::RecordedCase& result, const Again& again) {
  return again.every || again.outcomes.contains(result.outcome) ||
         std::any_of(result.of_passes.begin(), result.of_passes.end(),
                     [&](Outcome outcome) { return again.outcomes.contains(outcome); });
}

// How many settings the row has beyond the result's; nullopt where they differ otherwise.
std::optional<std::size_t> settings_added(const config::Plan& plan, std::size_t row,
                                          const store::Parameters& parameters) {
  std::size_t found = 0;
  std::size_t added = 0;
  for (std::size_t column = 0; column < plan.columns().size(); ++column) {
    const Value& value = plan.at(row, column);
    if (value.index() == 0) continue;
    const auto was = parameters.find(plan.columns()[column].name);
    if (was == parameters.end()) {
      ++added;
    } else if (was->second == value || value == automatic) {
      ++found;
    } else {
      return std::nullopt;
    }
  }
  return found == parameters.size() ? std::optional(added) : std::nullopt;
}

}  // namespace

bool Selection::wants_any() const {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), true) != wanted.end();
}

Selection select_cases(std::size_t cases, const std::function<CaseIdentity(std::size_t)>& identify,
                       const std::map<std::string, store::RecordedCase>& recorded,
                       const Again& again) {
  Selection selection;
  selection.wanted.assign(cases, true);
  std::unordered_set<std::string> seen;
  for (std::size_t index = 0; index < cases; ++index) {
    CaseIdentity asked = identify(index);
    const auto result = recorded.find(asked.key);
    if (!seen.insert(asked.key).second) {
      selection.wanted[index] = false;
      ++selection.repeats;
      continue;
    }
    if (result == recorded.end()) continue;
    selection.places[asked.key] = static_cast<std::int64_t>(index);
    if (!covers(result->second, asked) || is_redone(result->second, again)) continue;
    selection.wanted[index] = false;
    ++selection.done;
  }
  // A plan without some of the results cannot order them.
  if (selection.places.size() < recorded.size()) selection.places.clear();
  return selection;
}

bool may_repeat(const config::Plan& plan) {
  return std::any_of(plan.columns().begin(), plan.columns().end(), [](const auto& column) {
    const auto& values = column.values;
    return values.size() > 2 && std::find(values.begin(), values.end(), automatic) != values.end();
  });
}

Result<config::Plan> narrow_plan(const config::Plan& plan,
                                 const std::vector<const store::CaseResult*>& results) {
  config::Plan narrowed;
  for (const store::CaseResult* result : results) {
    std::optional<std::size_t> best;
    std::size_t fewest = plan.columns().size() + 1;
    for (std::size_t row = 0; row < plan.size() && fewest > 0; ++row) {
      const auto added = settings_added(plan, row, result->parameters);
      if (!added || *added > fewest) continue;
      // Two equally good rows are ambiguous.
      best = *added == fewest ? std::nullopt : std::optional(row);
      fewest = *added;
    }
    if (!best) {
      return fail(
          ExitCode::bad_input,
          fmt::format("the experiment no longer has this case: {}", result->key_text),
          "no case, or more than one, has these parameters; do this assay's parameters differ "
          "from those of the one that measured it?");
    }
    auto parameters = plan.parameters(*best);
    for (const auto& [name, value] : result->parameters) parameters[name] = value;
    narrowed.add_case(parameters);
  }
  return narrowed;
}

Error ends_here(Error error, const std::string& run, std::size_t stored, std::size_t total,
                std::int64_t ordinal) {
  error.diagnostics.push_back(
      {{},
       fmt::format("the run {} ends here: {} of {} cases are stored, the result of case {} is not",
                   run, stored, total, ordinal + 1),
       fmt::format("`--resume {}` measures the rest once the database can be written", run)});
  return error;
}

}  // namespace assay::run
