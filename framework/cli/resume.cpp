#include "cli/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/case_key.h"
#include "base/json.h"
#include "base/outcome.h"
#include "base/text.h"
#include "cli/stored_run.h"
#include "config/suite.h"
#include "store/records/identity.h"

namespace assay::cli {

namespace {

// The newest run of the experiment, without those that --case narrowed.
Result<std::optional<std::string>> newest_whole_run(store::Database& database,
                                                    const std::string& experiment) {
  const auto runs = database.runs();
  if (!runs) return tl::unexpected(runs.error());
  for (const store::RunSummary& run : *runs) {
    const auto& overrides = run.info.first.overrides;
    const bool of_cases = std::any_of(overrides.begin(), overrides.end(), [](const auto& text) {
      return override_value(text, "--case ").has_value();
    });
    if (run.info.experiment == experiment && !of_cases) return std::optional(run.info.name);
  }
  return std::optional<std::string>();
}

bool is_resuming(const po::variables_map& values) {
  return values.count("resume") > 0 || values.count("retry") > 0 ||
         (values.count("rerun") > 0 && values["rerun"].as<bool>());
}

// The name of an experiment or suite; "" where its text is wrong, which is told elsewhere.
std::string name_in(std::string_view text) {
  const auto document = yaml::read(text, "");
  if (!document) return "";
  const yaml::Node* name =
      document->root.find(config::is_suite(document->root) ? "suite" : "experiment");
  return name != nullptr && name->is_scalar() ? name->text : "";
}

// The values of each name in some cases, as text.
using Values = std::map<std::string, std::set<std::string>>;

// Everything that the sessions of a run planned to measure, whatever their filters left.
struct OwnCases {
  std::set<std::string> keys;
  Values values;
  std::map<std::string, std::set<std::string>> presets;  // the contents by name
  std::string problem;                                   // why a session cannot be planned

  void add(const Planned& planned) {
    for (std::size_t i = 0; i < planned.plan.size(); ++i) {
      keys.insert(case_key_text(planned.plan.parameters(i)));
    }
    add_values(planned.plan, {}, values);
    for (const auto& [name, content] : planned.experiment.presets) {
      presets[name].insert(dump(content));
    }
  }

  // Of the given cases of the plan; of all without any.
  static void add_values(const config::Plan& plan, const std::vector<std::size_t>& cases,
                         Values& values) {
    for (const config::Plan::Column& column : plan.columns()) {
      for (std::size_t i = 0; i < (cases.empty() ? plan.size() : cases.size()); ++i) {
        const Value& value = plan.get(cases.empty() ? i : cases[i], column.name);
        if (value.index() != 0) values[column.name].insert(to_text(value));
      }
    }
  }
};

OwnCases own_cases(const Context& context, const StoredRun& stored) {
  OwnCases own;
  const store::RunInfo& info = stored.run.info;
  for (int number = 0; number <= static_cast<int>(info.sessions.size()); ++number) {
    const store::Session& session = store::session_of(info, number);
    if (session.experiment_text.empty()) continue;
    config::Override override = stored_overrides(session, /*with_filters=*/false);
    override.of_chapter = stored.changes;
    const auto planned = plan_stored(context, session, stored.cases, override);
    if (planned) {
      own.add(*planned);
    } else {
      own.problem = planned.error().text();
    }
  }
  return own;
}

std::string listed(const std::set<std::string>& values) {
  constexpr std::size_t most = 6;
  std::vector<std::string> words(values.begin(), values.end());
  if (words.size() > most) {
    words.resize(most);
    words.emplace_back("…");
  }
  return words.empty() ? "not set" : join(words, ", ");
}

// "measure.samples is 3 in the run and 5 now"
std::vector<std::string> differences(const OwnCases& own, const Planned& planned,
                                     const std::vector<std::size_t>& added) {
  std::vector<std::string> found;
  Values now;
  OwnCases::add_values(planned.plan, added, now);
  for (const auto& [name, values] : now) {
    const auto before = own.values.find(name);
    const std::set<std::string> known =
        before == own.values.end() ? std::set<std::string>() : before->second;
    if (std::ranges::includes(known, values)) continue;
    found.push_back(
        fmt::format("{} is {} in the run and {} now", name, listed(known), listed(values)));
  }
  return found;
}

std::vector<std::string> changed_presets(const OwnCases& own, const Planned& planned) {
  std::vector<std::string> found;
  for (const auto& [name, content] : planned.experiment.presets) {
    const auto before = own.presets.find(name);
    if (before == own.presets.end() || before->second.contains(dump(content))) continue;
    found.push_back(fmt::format("{} has other fields now", name));
  }
  return found;
}

// Accepts an unknown run, which fails where it is opened.
Result<void> check_experiment_of(store::Database& database, const std::string& run,
                                 const std::string& experiment) {
  const auto runs = database.runs();
  if (!runs) return tl::unexpected(runs.error());
  for (const store::RunSummary& known : *runs) {
    if (known.info.name != run || known.info.experiment == experiment) continue;
    return fail(ExitCode::bad_input,
                fmt::format("'{}' is a run of the experiment '{}', not of '{}'", run,
                            known.info.experiment, experiment),
                "leave out --resume to begin a new run");
  }
  return {};
}

}  // namespace

void add_resume_options(po::options_description& options) {
  options.add_options()(
      "resume", po::value<std::string>()->value_name("RUN")->implicit_value("latest"),
      "complete a run (default: the experiment's newest): measure cases without a result and those "
      "measured with other binaries; with the run's own --set and --filter, and without FILE of "
      "its "
      "own experiment")("retry", po::value<std::string>()->value_name("OUTCOMES"),
                        "also measure again the cases with these outcomes, such as oom,timeout; an "
                        "old result stays until the new one is stored")(
      "rerun", po::bool_switch(), "also measure again every case that --filter and --case keep")(
      "changed", po::bool_switch(),
      "resume with FILE, --set and --filter as they are now, also where the run's own were others "
      "and cases of both are mixed");
}

Result<run::Again> asked_again(const po::variables_map& values) {
  run::Again again;
  again.every = values["rerun"].as<bool>();
  const std::string retry = text_or(values, "retry", "");
  if (retry.empty()) return again;
  if (again.every) {
    return fail(ExitCode::bad_input, "--rerun measures every case again, --retry only some",
                "give only one of them");
  }
  for (const std::string& item : split(retry, ',')) {
    const std::string word(trim(item));
    const auto outcome = outcome_from_text(word);
    if (!outcome) {
      return fail(ExitCode::bad_input, fmt::format("--retry: '{}' is not an outcome{}", word,
                                                   suggestion(word, outcome_names())));
    }
    again.outcomes.insert(*outcome);
  }
  return again;
}

bool is_taken_up(const po::variables_map& values) {
  return is_resuming(values) && !values["changed"].as<bool>();
}

Result<std::optional<StoredRun>> run_taken_up(const po::variables_map& values,
                                              std::string_view text) {
  const std::optional<StoredRun> none;
  std::error_code ignored;
  if (!is_taken_up(values) || !std::filesystem::exists(database_file(values), ignored)) return none;
  auto database = open_database(values, store::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  const std::string experiment = name_in(text);
  std::optional<std::string> name = text_or(values, "resume", "latest");
  if (*name == "latest") {
    auto newest = newest_whole_run(*database, experiment);
    if (!newest) return tl::unexpected(newest.error());
    name = std::move(*newest);
  }
  if (!name) return none;
  const auto info = database->run_info(*name);
  if (!info || info->experiment != experiment || info->first.experiment_text.empty()) return none;
  auto run = stored_run(*database, *name, "");
  if (!run) return tl::unexpected(run.error());
  return std::optional(std::move(*run));
}

config::Override with_own(const store::RunInfo& info, const config::Override& given) {
  config::Override override = stored_overrides(info.first, given.filters.empty());
  for (const std::string& setting : given.settings) {
    if (std::ranges::count(override.settings, setting) == 0) override.settings.push_back(setting);
  }
  override.filters.insert(override.filters.end(), given.filters.begin(), given.filters.end());
  return override;
}

Result<void> check_unchanged(const Context& context, const StoredRun& stored,
                             const Planned& planned) {
  const std::string& run = stored.run.info.name;
  const OwnCases own = own_cases(context, stored);
  std::vector<std::size_t> added;
  for (std::size_t i = 0; i < planned.plan.size(); ++i) {
    if (!own.keys.contains(case_key_text(planned.plan.parameters(i)))) added.push_back(i);
  }
  std::vector<std::string> found = changed_presets(own, planned);
  if (!added.empty()) {
    const std::vector<std::string> more = differences(own, planned, added);
    found.insert(found.end(), more.begin(), more.end());
    if (found.empty()) {
      found.push_back(
          own.problem.empty()
              ? fmt::format("it lacks cases such as {}", planned.plan.describe(added.front()))
              : "its own experiment cannot be planned any more: " + own.problem);
    }
  }
  if (found.empty()) return {};
  return fail(
      ExitCode::bad_input,
      fmt::format("'{}' was measured otherwise, and a run does not mix both: {}", run,
                  join(found, "; ")),
      fmt::format("`assay run --resume {}` measures what is left of its own experiment; without "
                  "--resume a new run begins; --changed mixes them",
                  run));
}

Result<std::optional<std::string>> run_to_resume(const po::variables_map& values,
                                                 store::Database& database,
                                                 const RunInvocation& invocation) {
  const bool implied = values["rerun"].as<bool>() || values.count("retry") > 0;
  const std::string named = text_or(values, "resume", implied ? "latest" : "");
  if (named.empty()) return std::optional<std::string>();
  if (named != "latest") {
    const auto checked = check_experiment_of(database, named, invocation.experiment.name);
    if (!checked) return tl::unexpected(checked.error());
    return std::optional(named);
  }
  if (invocation.of) {
    // A chapter's case is measured again in a run of its own.
    const auto checked = check_experiment_of(database, *invocation.of, invocation.experiment.name);
    if (!checked) return tl::unexpected(checked.error());
    return invocation.of;
  }
  auto latest = newest_whole_run(database, invocation.experiment.name);
  if (!latest) return latest;
  if (!*latest) {
    return fail(ExitCode::bad_input,
                fmt::format("'{}' has no run to resume", invocation.experiment.name),
                "leave out --resume, --retry and --rerun to begin one");
  }
  return latest;
}

}  // namespace assay::cli
