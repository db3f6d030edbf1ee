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
  config::Changes changes = {};  // of the chapter that the cases are of
};

// Leaves the run of the first chapter that has all the chosen cases.
Result<void> narrow_to_chapter(const store::SuiteRecord& suite, Stored& stored) {
  std::vector<std::string> keys;
  for (const store::CaseResult* result : stored.cases) keys.push_back(result->key);
  for (const store::ChapterRecord& chapter : suite.chapters) {
    store::Run own = store::chapter_run(stored.run, chapter);
    std::vector<const store::CaseResult*> cases;
    for (const std::string& key : keys) {
      const auto found = std::ranges::find_if(
          own.cases, [&](const store::CaseResult& result) { return result.key == key; });
      if (found != own.cases.end()) cases.push_back(&*found);
    }
    if (cases.size() < keys.size()) continue;
    stored.run = std::move(own);  // the cases stay where they are
    stored.cases = std::move(cases);
    stored.changes.title = chapter.title;
    if (chapter.report.empty()) return {};
    auto report = yaml::parse(chapter.report, chapter.file);
    if (!report) return tl::unexpected(report.error());
    stored.changes.report = std::move(*report);
    return {};
  }
  return fail(ExitCode::bad_input, "the cases are of several chapters",
              "name cases of one chapter, or the suite's file with --only and --filter");
}

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
    if (const auto suite = store::suite_of(stored.run.info)) {
      auto narrowed = narrow_to_chapter(*suite, stored);
      if (!narrowed) return tl::unexpected(narrowed.error());
    }
  }
  stored.session =
      store::session_of(stored.run.info, stored.cases.empty() ? 0 : stored.cases[0]->session);
  for (const store::Session& session : stored.run.info.sessions) {
    if (!stored.cases.empty() || !store::suite_of(session)) continue;
    // A suite may have grown; what narrowed a later session does not narrow the run.
    stored.session = session;
    stored.session.overrides = stored.run.info.first.overrides;
  }
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

RunInvocation invocation_of_suite(PlannedSuite planned, const SuiteRequest& request) {
  RunInvocation invocation;
  invocation.experiment = planned.whole;
  invocation.overrides = for_the_record(request.given);
  invocation.words = as_words(request.given);
  for (const std::string& chapter : request.only) {
    invocation.overrides.push_back("--only " + chapter);
    invocation.words.insert(invocation.words.end(), {"--only", chapter});
  }
  invocation.suite = std::make_shared<const PlannedSuite>(std::move(planned));
  return invocation;
}

Result<void> refuse_only(const po::variables_map& values, const std::string& what) {
  if (values.count("only") == 0) return {};
  return fail(ExitCode::bad_input, fmt::format("--only chooses chapters, and {} is no suite", what),
              "--filter chooses cases of an experiment");
}

Result<RunInvocation> invocation_of_stored_suite(const Context& context,
                                                 const po::variables_map& values,
                                                 const Stored& stored,
                                                 const store::SuiteRecord& record) {
  SuiteRequest request{stored_overrides(stored.session, true), texts(values, "only")};
  append(overrides(values), request.given);
  auto planned = plan_stored_suite(context, stored.session, record, request);
  if (!planned) return tl::unexpected(planned.error());
  RunInvocation invocation = invocation_of_suite(std::move(*planned), request);
  invocation.of = stored.run.info.name;
  const std::vector<std::string> more = as_words(overrides(values));
  invocation.words = {"--experiment-of", stored.run.info.name};
  invocation.words.insert(invocation.words.end(), more.begin(), more.end());
  for (const std::string& chapter : request.only) {
    invocation.words.insert(invocation.words.end(), {"--only", chapter});
  }
  return invocation;
}

}  // namespace

Result<RunInvocation> invocation_of_file(const Context& context, const po::variables_map& values,
                                         const std::string& file) {
  const config::Override given = overrides(values);
  const auto path = experiment_file(context, file);
  if (!path) return tl::unexpected(path.error());
  const auto text = read_file(*path, yaml::Limits{}.bytes);
  if (!text) return tl::unexpected(text.error());
  if (config::is_suite(*text)) {
    const SuiteRequest request{given, texts(values, "only")};
    auto planned = plan_suite_file(context, *path, *text, request);
    if (!planned) return tl::unexpected(planned.error());
    RunInvocation invocation = invocation_of_suite(std::move(*planned), request);
    invocation.words.insert(invocation.words.begin(), file);
    return invocation;
  }
  if (auto refused = refuse_only(values, file); !refused) return tl::unexpected(refused.error());
  auto planned = plan_text(context, *text, *path, context.environment(), given);
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
  if (const auto suite = store::suite_of(from)) {
    return invocation_of_stored_suite(context, values, *stored, *suite);
  }
  if (auto refused = refuse_only(values, stored->run.info.name); !refused) {
    return tl::unexpected(refused.error());
  }
  const config::Override given = overrides(values);
  config::Override override = stored_overrides(from, stored->cases.empty());
  override.of_chapter = stored->changes;
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
