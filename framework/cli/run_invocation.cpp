#include "cli/run_invocation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/outcome.h"
#include "base/text.h"
#include "cli/case_choice.h"
#include "cli/planned.h"
#include "store/records/identity.h"

namespace assay::cli {

namespace {

std::vector<std::string> as_words(const config::Override& given) {
  std::vector<std::string> words;
  for (const std::string& setting : given.settings) words.insert(words.end(), {"--set", setting});
  for (const std::string& filter : given.filters) words.insert(words.end(), {"--filter", filter});
  return words;
}

std::vector<std::string> for_the_record(const config::Override& given) {
  std::vector<std::string> record;
  for (const std::string& setting : given.settings) record.push_back("--set " + setting);
  for (const std::string& filter : given.filters) record.push_back("--filter " + filter);
  return record;
}

// The value of an override "--set VALUE" for this option; nullopt for another option.
std::optional<std::string> override_value(const std::string& override, std::string_view option) {
  if (!override.starts_with(option)) return std::nullopt;
  return override.substr(option.size());
}

struct Stored {
  store::Run run;
  std::vector<const store::CaseResult*> cases;  // that --case names; empty: all
  store::Session session;
};

// Where --case names cases of several sessions, the first case's session counts.
Result<Stored> stored_run(const po::variables_map& values) {
  auto database = open_database(values, store::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  const auto name =
      run_name(*database, text_or(values, "experiment-of", text_or(values, "resume", "latest")));
  if (!name) return tl::unexpected(name.error());
  auto run = database->load_run(*name);
  if (!run) return tl::unexpected(run.error());
  Stored stored{std::move(*run), {}, {}};
  std::string choice = text_or(values, "case", "");
  if (choice.empty()) {
    for (const std::string& override : stored.run.info.first.overrides) {
      choice = override_value(override, "--case ").value_or(choice);
    }
  }
  if (!choice.empty()) {
    auto cases = choose_cases(stored.run, choice);
    if (!cases) return tl::unexpected(cases.error());
    stored.cases = std::move(*cases);
  }
  stored.session =
      store::session_of(stored.run.info, stored.cases.empty() ? 0 : stored.cases[0]->session);
  if (stored.session.experiment_text.empty()) {
    return fail(ExitCode::bad_input,
                fmt::format("{} was stored without the text of its experiment", *name),
                "name the experiment's file instead of --experiment-of");
  }
  return stored;
}

config::Override stored_overrides(const store::Session& session, bool with_filters) {
  config::Override override;
  for (const std::string& text : session.overrides) {
    if (auto setting = override_value(text, "--set ")) override.settings.push_back(*setting);
    if (auto filter = override_value(text, "--filter "); filter && with_filters) {
      override.filters.push_back(*filter);
    }
  }
  return override;
}

void append(const config::Override& more, config::Override& override) {
  override.settings.insert(override.settings.end(), more.settings.begin(), more.settings.end());
  override.filters.insert(override.filters.end(), more.filters.begin(), more.filters.end());
}

config::Environment environment_of(const Context& context, const store::Session& stored) {
  config::Environment environment = context.environment();
  if (!stored.provenance.is_object() || !stored.provenance.contains("presets")) return environment;
  const nlohmann::json& presets = stored.provenance["presets"];
  if (!presets.is_object()) return environment;
  for (const auto& [name, config] : presets.items()) environment.presets[name] = config;
  return environment;
}

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

}  // namespace

Result<RunInvocation> invocation_of_file(const Context& context, const po::variables_map& values,
                                         const std::string& file) {
  const config::Override given = overrides(values);
  auto planned = plan_file(context, file, given);
  if (!planned) return tl::unexpected(planned.error());
  RunInvocation invocation{
      std::move(planned->experiment), std::move(planned->plan), for_the_record(given), {}, {file}};
  const std::vector<std::string> words = as_words(given);
  invocation.words.insert(invocation.words.end(), words.begin(), words.end());
  return invocation;
}

Result<RunInvocation> invocation_of_run(const Context& context, const po::variables_map& values) {
  const auto stored = stored_run(values);
  if (!stored) return tl::unexpected(stored.error());
  const store::Session& from = stored->session;
  const config::Override given = overrides(values);
  config::Override override = stored_overrides(from, stored->cases.empty());
  append(given, override);
  auto planned = plan_text(context, from.experiment_text, from.experiment_file,
                           environment_of(context, from), override);
  if (!planned) return tl::unexpected(planned.error());
  const std::string& name = stored->run.info.name;
  std::vector<std::string> record = for_the_record(override);
  std::vector<std::string> words{"--experiment-of", name};
  if (!stored->cases.empty()) {
    auto narrowed = run::narrow_plan(planned->plan, stored->cases);
    if (!narrowed) return tl::unexpected(narrowed.error());
    planned->plan = std::move(*narrowed);
    if (const auto checked = check_report(context, *planned, override); !checked) {
      return tl::unexpected(checked.error());
    }
    const std::string choice = text_or(values, "case", "");
    if (!choice.empty()) words.insert(words.end(), {"--case", choice});
    record.push_back("--case " + (stored->cases.size() == 1
                                      ? short_key(stored->run, *stored->cases[0])
                                      : choice));
  }
  const std::vector<std::string> more = as_words(given);
  words.insert(words.end(), more.begin(), more.end());
  return RunInvocation{std::move(planned->experiment), std::move(planned->plan), std::move(record),
                       name, std::move(words)};
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

namespace {

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
  if (invocation.of) return invocation.of;
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
